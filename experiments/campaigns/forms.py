"""The forms of hosts and campaigns; the API checks what it is sent with the same ones."""

import random
import re
from collections.abc import Collection
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.urls import reverse

from experiments import permissions
from experiments.imports import normalise
from experiments.laboratory.benchmarks import engines
from experiments.laboratory.targets import disks
from experiments.models import Campaign, FileSystem, Host, HostStorage, Hypervisor, StoragePool
from experiments.permissions import User as AnyUser
from experiments.records import visible
from kdb.disk_path import SETTINGS
from kdb.web.form_types import ModelChoiceField, ModelForm, field_of

from . import abilities, checks, hosts

BY_RUNNER = ("native", "libvirt", "proxmox")  # drivers that a host with a runner can be asked for
_LOOKUP_SECONDS = 5  # while somebody waits for the page; a worker asks again
STATED = tuple(name for name in normalise.CONFIGURATION if name != "configuration")


class _HostCan(forms.MultipleChoiceField):
    """A field that offers what the host can make. checks.problems_of refuses other known names, and says why."""

    known: Collection[str] = ()

    def valid_value(self, value: Any) -> bool:
        return value in self.known


class _ListField(forms.CharField):
    """A list as a person types it, or as a list of JSON. separator : between its items, as text"""

    def __init__(self, *, separator: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.separator = separator

    def to_python(self, value: Any) -> str:
        return super().to_python(self.separator.join(map(str, value)) if isinstance(value, list) else value) or ""


class _StatedField(_ListField):
    """A list of `name: text` lines, or an object of JSON."""

    def to_python(self, value: Any) -> str:
        return super().to_python([f"{k}: {v}" for k, v in value.items()] if isinstance(value, dict) else value)


class _PoolField(ModelChoiceField[StoragePool]):
    def label_from_instance(self, obj: StoragePool) -> str:
        return f"{obj.host}: {obj.path}"


class _DiskOption(forms.MultipleChoiceField):
    """The values of one of disks.CHOICES, one or several; left out, it is its usual one. JSON may have one as text."""

    def __init__(self, name: str) -> None:
        setting = SETTINGS[name]
        super().__init__(
            choices=[*disks.CHOICES[name].items()],
            initial=[disks.USUAL[name]],
            required=False,
            widget=forms.CheckboxSelectMultiple,
            label=setting.label,
            help_text=setting.meaning,
        )

    def to_python(self, value: Any) -> list[str]:
        return super().to_python([value] if isinstance(value, str) and value else value) or list(self.initial)


class InSections(forms.BaseForm):
    """A form whose fields stand in sections; every field is in one of SECTIONS."""

    SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...]  # title, a sentence or "", names of fields

    @property
    def sections(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        return [
            (title, sentence, [self[name] for name in names if name in self.fields])
            for title, sentence, names in self.SECTIONS
        ]


class HostForm(InSections, ModelForm[Host]):
    """A machine. The short name is fixed once it exists."""

    SECTIONS = (
        ("The machine", "", ("name", "slug", "laboratory", "runs_on", "hypervisor")),
        (
            "How it is reached",
            "A worker of the laboratory logs in with OpenSSH, and you are shown the machine's key before anything is "
            "done. A machine that no worker can reach runs a runner in place of that, which asks this server. A node "
            "of Proxmox VE can be observed without a login, by its API.",
            ("address", "port", "login", "uses_sudo", "key_name", "is_by_runner", "is_by_api"),
        ),
        (
            "What may be done there",
            "KDB writes in the storage pools and nowhere else, and removes what it made.",
            ("drivers", "pools", "guest_image"),
        ),
        ("When it must be left alone", "Every day, in UTC; empty: never.", ("window_start", "window_end")),
        ("What no command can find out", "It goes into the configurations of what is measured here.", ("stated",)),
    )

    port = forms.IntegerField(min_value=1, max_value=65_535, initial=22, label="Port")
    drivers = forms.MultipleChoiceField(
        choices=Host.Driver.choices, widget=forms.CheckboxSelectMultiple, label="What it can be asked for"
    )
    hypervisor = forms.ModelChoiceField(visible.entries(Hypervisor), required=False)
    pools = _ListField(
        separator="\n",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        label="Storage pools, one a line",
        help_text="/srv/kdb image: file systems are made in image files there. "
        "/srv/xfs existing: what is mounted there is tested as it is. "
        "local-lvm storage: a storage of Proxmox VE, beside a folder. "
        "In a virtual machine, third word: the host file system below it. Nothing outside is written. "
        "Folders of the system (/etc, /home, /root, /usr, /var and the like) are refused.",
    )
    stated = _StatedField(
        separator="\n",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        label="Known to people only, one a line",
        help_text="hypervisor_release: ESXi 7.0U3",
    )

    class Meta:
        model = Host
        fields = (
            *("name", "slug", "address", "port", "login", "uses_sudo", "key_name", "is_by_runner", "is_by_api"),
            *("laboratory", "drivers", "hypervisor", "runs_on", "guest_image", "window_start", "window_end"),
        )
        labels = {
            "name": "Name",
            "slug": "Short name (in addresses)",
            "address": "Host name or IP address",
            "login": "Login",
            "uses_sudo": "The login may sudo without a password",
            "key_name": "Private key of the worker, by name",
            "is_by_runner": "It has a runner",
            "is_by_api": "By Proxmox VE's API, to observe only",
            "laboratory": "Laboratory",
            "runs_on": "Virtual machine of",
            "guest_image": "Folder with the guest image",
            "window_start": "Maintenance from (UTC)",
            "window_end": "until (UTC)",
        }
        help_texts = dict.fromkeys(fields, "") | {
            "key_name": "A file in the worker's folder of keys; empty: its ssh agent. "
            "Who names it first is the only operator who may.",
            "is_by_runner": "Leave the address empty. Its page then gives the token and the commands.",
            "is_by_api": "The port is 8006, and the key is a file with a token: USER@REALM!NAME=SECRET. Login and sudo "
            "are not used.",
            "laboratory": "Its workers do the runs: celery --queues lab-NAME, or manage.py work --queue lab-NAME.",
        }
        widgets = {
            "window_start": forms.TimeInput(attrs={"type": "time"}),
            "window_end": forms.TimeInput(attrs={"type": "time"}),
        }

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.hosts = permissions.hosts_visible_to(user)
        runs_on = field_of(self, "runs_on", forms.ModelChoiceField)
        runs_on.empty_label = "no machine: it is one of its own"
        runs_on.queryset = self.hosts.filter(runs_on=None, archived_at=None).exclude(pk=self.instance.pk)
        field_of(self, "hypervisor", forms.ModelChoiceField).empty_label = "as a check finds it"
        if self.instance.pk:
            del self.fields["slug"]
            pools = self.instance.pools.select_related("host_fs")
            self.initial["pools"] = "\n".join(
                " ".join(filter(None, [pool.path, pool.kind, pool.host_fs.slug if pool.host_fs else ""]))
                for pool in pools
            )
            self.initial["stated"] = "\n".join(f"{name}: {text}" for name, text in self.instance.stated.items())

    def clean_pools(self) -> list[StoragePool]:
        pools: dict[str, StoragePool] = {}
        kinds = StoragePool.Kind.values
        systems = {entry.slug: entry for entry in visible.entries(FileSystem)}
        for number, line in enumerate(self.cleaned_data["pools"].splitlines(), start=1):
            words = line.split()
            if not words:
                continue
            pool = StoragePool(path=words[0], kind=words[1] if len(words) > 1 else StoragePool.Kind.IMAGE)
            if pool.kind not in kinds or len(words) > 3:
                raise ValidationError(f"Line {number}: a path, {' or '.join(kinds)}, and perhaps a file system.")
            if len(words) == 3:
                if words[2] not in systems:
                    raise ValidationError(
                        f"Line {number}: {words[2]!r} is no file system; there are {', '.join(systems)}."
                    )
                pool.host_fs = systems[words[2]]
            if (pool.kind == StoragePool.Kind.STORAGE) == words[0].startswith("/"):
                raise ValidationError(
                    f"Line {number}: a folder is an absolute path; what Proxmox VE has a name for is of the kind "
                    f"{StoragePool.Kind.STORAGE.value}."
                )
            try:
                pool.clean_fields(exclude=["host"])
            except ValidationError as error:
                raise ValidationError(f"Line {number}: {' '.join(error.messages)}") from error
            if words[0] in pools:
                raise ValidationError(f"Line {number}: {words[0]} is there already.")
            pools[words[0]] = pool
        return list(pools.values())

    def clean_stated(self) -> dict[str, str]:
        stated = {}
        for number, line in enumerate(self.cleaned_data["stated"].splitlines(), start=1):
            if not line.strip():
                continue
            name, colon, text = line.partition(":")
            name, text = name.strip(), text.strip()
            if not colon or name not in STATED or not text:
                raise ValidationError(f"Line {number}: field: text. The fields are {', '.join(STATED)}.")
            if len(text) > normalise.LENGTHS.get(name, 200):
                raise ValidationError(f"Line {number}: at most {normalise.LENGTHS.get(name, 200)} characters.")
            stated[name] = text
        return stated

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if bool(data.get("window_start")) != bool(data.get("window_end")):
            self.add_error("window_end", "A window has both ends.")
        if data.get("runs_on") and set(data.get("drivers", [])) - {"native"}:
            self.add_error("drivers", "A virtual machine is used by its host's campaigns: native only.")
        if data.get("is_by_runner"):
            if data.get("address"):
                self.add_error("address", "A host with a runner is not logged in to: leave the address empty.")
            if data.get("guest_image"):
                self.add_error("guest_image", "Guests are logged in to by ssh through their host, which has a runner.")
            if data.get("is_by_api"):
                self.add_error("is_by_api", "It has a runner, or is asked by the API: one of both.")
            if data.get("runs_on"):
                self.add_error("is_by_runner", "A virtual machine is reached through its host.")
            if others := set(data.get("drivers", [])) - {*BY_RUNNER}:
                self.add_error("drivers", f"By a runner: {', '.join(BY_RUNNER)}; found {', '.join(sorted(others))}.")
        elif data.get("is_by_api"):
            self._check_api(data)
        elif not data.get("address") and data.get("drivers") and data["drivers"] != ["attached"]:
            self.add_error("address", "Only a host of attached machines can do without.")
        if data.get("address"):
            try:
                hosts.refuse_place(data["address"], seconds=_LOOKUP_SECONDS)
            except hosts.HostError as refusal:
                self.add_error("address", str(refusal))
        at = {"address__iexact": data.get("address"), "port": data.get("port")}
        if all(at.values()) and (twin := Host.objects.filter(**at).exclude(pk=self.instance.pk).first()):
            known = twin if twin in self.hosts else "Another operator's host"
            archived = " It is archived: bring it back." if known == twin and twin.archived_at else ""
            self.add_error("address", f"{known} is registered with this address and port already.{archived}")
        self.instance.stated = data.get("stated") or {}
        return data

    def _check_api(self, data: dict[str, Any]) -> None:
        needed = {"address": "an address", "key_name": "the name of the file with its token"}
        for name in (name for name in needed if not data.get(name)):
            self.add_error(name, f"The API of Proxmox VE is asked with a token: {needed[name]} is needed.")
        if data.get("drivers") and data["drivers"] != ["proxmox"]:
            self.add_error("drivers", f"By the API: proxmox; found {', '.join(data['drivers'])}.")
        for name in ("pools", "guest_image", "runs_on"):
            if data.get(name):
                self.add_error(name, "By the API a host is only observed, and nothing is made there: leave it empty.")


class CampaignForm(InSections, ModelForm[Campaign]):
    """A plan: what to run, on which host, by which protocol."""

    SECTIONS = (
        ("The campaign", "", ("title", "slug")),
        ("Where it runs", "", ("host", "pool", "driver")),
        (
            "What is compared",
            "Each chosen one with each other one.",
            ("host_file_systems", "guest_file_systems", "workloads", "vm_counts"),
        ),
        (
            "How it is measured",
            "The papers ran 120 s, three or ten times.",
            ("engine", "personality", "repetitions", "run_seconds", "cool_down_seconds", "precision_percent", "seed"),
        ),
        ("How large", "", ("follows_protocol", "scale_percent", "disk_mib", "vm_ram_mib", "vm_vcpus", "pinned_cpus")),
        (
            "The virtual disks",
            "Of machines that the campaign makes. Several values of one are compared, each with each other one of the "
            "rest. What cannot go together is left out; the estimate says what and why.",
            tuple(name for name in disks.CHOICES if name not in disks.OF_FILE_SYSTEM),
        ),
        (
            "The file system on the host itself",
            "Of native campaigns; several values are compared.",
            disks.OF_FILE_SYSTEM,
        ),
    )

    host_file_systems = _HostCan(
        widget=forms.CheckboxSelectMultiple, label="Host file systems, or volumes in their place"
    )
    guest_file_systems = _HostCan(
        required=False, widget=forms.CheckboxSelectMultiple, label="Guest file systems (none: native)"
    )
    workloads = forms.MultipleChoiceField(
        choices=[(name, name) for name in engines.WORKLOADS], widget=forms.CheckboxSelectMultiple, label="Workloads"
    )
    vm_counts = _ListField(
        separator=" ", required=False, label="Virtual machines at once", help_text="1 2 3 4; empty: native"
    )
    pinned_cpus = _ListField(
        separator=" ",
        required=False,
        label="Host CPUs that the vCPUs are pinned to",
        help_text="2-5 8, one a vCPU; empty: any",
    )
    follows_protocol = forms.BooleanField(
        required=False,
        initial=True,
        label="Measure the disk, not the memory",
        help_text="Files are twice as large as the memory that may cache them: that of a machine; natively the "
        "benchmark may use no more. Where it cannot be limited, fio passes it by. The first run warms up.",
    )
    repetitions = forms.IntegerField(min_value=1, max_value=100, initial=3, label="Repetitions")
    run_seconds = forms.IntegerField(min_value=1, max_value=86_400, initial=120, label="Length of a run, s")
    cool_down_seconds = forms.IntegerField(min_value=0, max_value=3_600, initial=0, label="Pause before each run, s")
    scale_percent = forms.IntegerField(
        min_value=1, max_value=1_000, initial=100, label="Files and threads, % of standard"
    )
    disk_mib = forms.IntegerField(min_value=32, max_value=2**24, initial=8192, label="Each file system under test, MiB")
    vm_ram_mib = forms.IntegerField(min_value=128, max_value=2**24, initial=1536, label="Memory of a machine, MiB")
    vm_vcpus = forms.IntegerField(min_value=1, max_value=512, initial=1, label="vCPUs of a machine")
    precision_percent = forms.IntegerField(
        required=False, min_value=1, max_value=100, label="Stop when ratios are known to, %", help_text="Empty: never."
    )
    seed = forms.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, label="Seed of the order", help_text="Empty: any."
    )

    class Meta:
        model = Campaign
        fields = (
            *("title", "slug", "host", "pool", "driver", "engine", "personality"),
            *("host_file_systems", "guest_file_systems", "workloads", "vm_counts", "repetitions", "run_seconds"),
            *("cool_down_seconds", "scale_percent"),
            *("disk_mib", "vm_ram_mib", "vm_vcpus", "pinned_cpus", "precision_percent", "seed", "follows_protocol"),
        )
        labels = {
            "title": "Title",
            "slug": "Short name (in addresses)",
            "host": "Host",
            "pool": "Storage pool",
            "driver": "Driver",
            "engine": "Benchmark",
            "personality": "Texts of the workloads",
        }
        help_texts = dict.fromkeys(fields, "")
        field_classes = {"pool": _PoolField}

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        candidates = permissions.hosts_visible_to(user).filter(runs_on=None, archived_at=None)
        host = field_of(self, "host", forms.ModelChoiceField)
        host.queryset = every = candidates
        chosen = str(self["host"].value() or "")
        if re.fullmatch(r"[0-9]{1,9}", chosen):
            candidates = candidates.filter(pk=chosen)
        offered = list(candidates.prefetch_related("pools__host"))
        systems = list(visible.entries(FileSystem).order_by("slug").values_list("slug", flat=True))
        for name, can, known in (
            ("host_file_systems", abilities.host_storage, [*systems, *abilities.BACKENDS]),
            ("guest_file_systems", abilities.guest_file_systems, systems),
        ):
            able = {slug for candidate in offered for slug in can(candidate)}
            field = field_of(self, name, _HostCan)
            field.known, field.choices = known, [(slug, HostStorage.label(slug)) for slug in known if slug in able]
        # Another host can make other file systems: the form comes again with what was filled in.
        host.widget.attrs |= {
            **{"hx-get": reverse("campaign-new"), "hx-include": "closest form", "hx-params": "not csrfmiddlewaretoken"},
            **{"hx-target": "closest form", "hx-select": "form.question-form", "hx-swap": "outerHTML"},
        }
        pools = field_of(self, "pool", _PoolField)
        pools.queryset = StoragePool.objects.filter(host__in=every).select_related("host")

    def clean_vm_counts(self) -> list[int]:
        words = re.split(r"[\s,\[\]]+", self.cleaned_data["vm_counts"].strip())
        words = [word for word in words if word]
        if not all(re.fullmatch(r"[1-9]\d{0,2}", word) for word in words):
            raise ValidationError("Numbers from 1 to 999, with spaces between them.")
        return sorted(int(word) for word in words)

    def clean_pinned_cpus(self) -> list[int]:
        cpus: list[int] = []
        for word in re.split(r"[\s,\[\]]+", self.cleaned_data["pinned_cpus"].strip(" ,[]\t\n")):
            first, _, last = word.partition("-")
            if not word:
                continue
            if not re.fullmatch(r"\d{1,4}(-\d{1,4})?", word) or int(last or first) < int(first):
                raise ValidationError("Numbers of CPUs from 0 on, or ranges, with spaces between them: 2-5 8.")
            cpus += range(int(first), int(last or first) + 1)
        if len(set(cpus)) < len(cpus):
            raise ValidationError("Each CPU once.")
        return cpus

    def clean_seed(self) -> int:
        seed = self.cleaned_data["seed"]
        return random.randrange(2**31) if seed is None else seed  # noqa: S311 - an order, not a secret

    def clean(self) -> dict[str, Any]:
        """Add everything the host has against the plan, once the fields are right by themselves."""
        data = super().clean() or self.cleaned_data
        if not self.errors:
            for name in data.keys() - disks.CHOICES.keys():
                setattr(self.instance, name, data[name])
            self.instance.disk = {name: data[name] for name in disks.CHOICES}
            self.add_problems(checks.problems_of(self.instance))
        return data

    def add_problems(self, problems: dict[str, list[str]]) -> None:
        for name, sentences in problems.items():
            for sentence in sentences:
                self.add_error(name, sentence)


# One field a setting: what Campaign keeps of them has no fields of its own.
CampaignForm.base_fields |= {name: _DiskOption(name) for name in disks.CHOICES}


def filled_in(query: QueryDict) -> dict[str, Any]:
    """Return what an address suggests for a new campaign: a list for a field of several choices."""
    several = {name for name, field in CampaignForm.base_fields.items() if isinstance(field, forms.MultipleChoiceField)}
    box = {"follows_protocol": ""} if "slug" in query else {}  # a form's own fields: a box without a tick is not sent
    return box | {name: query.getlist(name) if name in several else query[name] for name in query}


class OperatorsForm(forms.Form):
    """The group of a host beside its owner."""

    operators = _ListField(separator=" ", required=False, max_length=20_000, label="Operators, by user name")

    def clean_operators(self) -> list[User]:
        names = set(self.cleaned_data["operators"].split())
        users = get_user_model().objects.filter(username__in=names, is_active=True)
        operators = [user for user in users if permissions.may_operate(user)]
        if unknown := sorted(names - {user.get_username() for user in operators}):
            raise ValidationError(f"{unknown[0]}: there is no operator of this name.")
        return operators


class NightlyForm(forms.Form):
    """The time that one more repetition may take, each night."""

    minutes = forms.IntegerField(
        min_value=1, max_value=720, required=False, label="Minutes a night", help_text="Empty: repeat it no more."
    )


class ReplicationForm(forms.Form):
    """The host that a case study is measured again on."""

    host = ModelChoiceField(Host.objects.none(), to_field_name="slug")
    short = forms.BooleanField(label="Short: one number of machines, 30 s a run, two repetitions", required=False)

    def __init__(self, data: QueryDict | None, *, user: AnyUser) -> None:
        super().__init__(data)
        field_of(self, "host", ModelChoiceField).queryset = permissions.hosts_visible_to(user).filter(
            runs_on=None, archived_at=None
        )


class TopUpForm(forms.Form):
    repetitions = forms.IntegerField(min_value=1, max_value=100, initial=1, label="More repetitions")
