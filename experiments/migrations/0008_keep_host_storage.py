"""Host storage becomes a part of the catalogue, and hypervisors get a family."""

import re

import django.core.validators
import experiments.models.fields
from django.db import migrations, models


# The words that KDB came with, as fixtures/catalogue.json had them: slug, name, kind, reach, family, aliases.
ROWS = (
    ('file', 'File on a file system', 'file', '', '', ['files', 'image file', 'raw file', 'qcow2 file', 'file-backed']),
    ('loop', 'Loop file', 'volume', 'host', '', ['loop device', 'loop device on a file']),
    ('local-disk', 'Local disk', '', 'host', '', ['disk of the bare host']),
    ('raw', 'Raw device or partition', 'volume', '', '', ['raw disk', 'raw disks', 'raw device', 'raw partition', 'passthrough', 'disk passthrough', 'raw block', 'raw block device', 'physical disk', 'physical partition']),
    ('nvme-passthrough', 'NVMe disk passed through', 'volume', 'host', '', ['vfio nvme']),
    ('vhost-user', 'vhost-user disk', 'volume', '', '', ['vhost-user-blk', 'spdk vhost']),
    ('lvm', 'LVM volume', 'volume', 'host', 'lvm', ['lvm thick', 'thick lvm', 'logical volume', 'logical volumes', 'raw lvm', 'lv', 'lvm volumes', 'lvm linear']),
    ('lvm-thin', 'LVM-thin volume', 'volume', 'host', 'lvm', ['thin pool', 'thinpool', 'thin lvm', 'lvm thin pool', 'lvm thin provisioning']),
    ('zvol', 'ZFS volume', 'volume', 'host', 'zfs', ['zfs zvol', 'zfs volumes', 'zvols', 'zfs block volume', 'zfs block device']),
    ('rbd', 'Ceph RBD', 'volume', 'network', 'ceph', ['ceph block', 'rados block device']),
    ('krbd', 'Ceph RBD by the kernel', 'volume', 'network', 'ceph', ['kernel rbd', "rbd by the host's kernel"]),
    ('guest-rbd', "Ceph RBD by the guest's kernel", 'volume', 'network', 'ceph', ['rbd in the guest', 'krbd in the guest']),
    ('rook', 'Ceph RBD by Rook', 'volume', 'network', 'ceph', ['rook ceph', 'rook-ceph']),
    ('iscsi', 'iSCSI', 'volume', 'network', '', ['iscsi lun', 'iscsi target', 'iscsi san']),
    ('nvme-tcp', 'NVMe/TCP', 'volume', 'network', '', ['nvme over tcp']),
    ('fc', 'Fibre Channel LUN', 'volume', 'network', '', ['fc lun', 'fc san']),
    ('linstor', 'LINSTOR volume', 'volume', 'network', 'drbd', ['linstor drbd', 'linbit sds']),
    ('storpool', 'StorPool volume', 'volume', 'network', '', []),
    ('vsan', 'VMware vSAN', 'volume', 'network', '', []),
    ('longhorn', 'Longhorn volume', 'volume', 'network', 'longhorn', ['rancher longhorn']),
    ('longhorn-v2', 'Longhorn volume, engine V2', 'volume', 'network', 'longhorn', []),
    ('openebs-jiva', 'OpenEBS Jiva volume', 'volume', 'network', 'openebs', ['jiva']),
    ('openebs-mayastor', 'OpenEBS Mayastor volume', 'volume', 'network', 'openebs', ['mayastor']),
    ('openebs-zfs', 'OpenEBS volume on local ZFS', 'volume', 'host', 'openebs', ['zfs localpv', 'localpv zfs', 'zfs-localpv']),
    ('openebs-lvm', 'OpenEBS volume on local LVM', 'volume', 'host', 'openebs', ['lvm localpv', 'localpv lvm', 'lvm-localpv']),
    ('openebs-local', 'OpenEBS local directory', 'managed', 'host', 'openebs', ['openebs hostpath']),
    ('portworx', 'Portworx volume', 'volume', 'network', '', ['portworx enterprise']),
    ('virtiofs', 'virtiofs', 'shared', 'host', '', []),
    ('9p', '9p', 'shared', 'host', '', ['9pfs', 'virtio-9p', 'plan 9']),
    ('vboxsf', 'VirtualBox shared folder', 'shared', 'host', '', []),
    ('hgfs', 'VMware shared folder', 'shared', 'host', '', []),
    ('nfs', 'NFS', 'shared', 'network', '', ['nfs share', 'nfs storage', 'nfs datastore', 'nfs export']),
    ('smb', 'SMB', 'shared', 'network', '', ['cifs', 'smb share']),
    ('gluster', 'GlusterFS volume', 'shared', 'network', '', ['glusterfs']),
    ('storage-spaces', 'Storage Spaces', 'managed', 'host', 'storage spaces', ['windows storage spaces']),
    ('s2d', 'Storage Spaces Direct', 'managed', 'network', 'storage spaces', []),
    ('docker-volume', 'Docker volume', 'managed', 'host', '', ['docker named volume']),
    ('overlay2-layer', 'Writable layer of a container', 'managed', 'host', '', ['overlay2']),
)
FAMILIES = {
    **dict.fromkeys(("docker", "kubernetes", "lxc"), "containers"),
    **dict.fromkeys(("cloud-hypervisor", "cubesandbox", "firecracker"), "microVMs"),
}


def fold(name):
    return re.sub(r"[\s_.\-/()]+", "", name.casefold())


def fill(apps, schema_editor):
    """Make a row of each word: those of KDB, without which forms of a filled database would offer none, and those that
    case studies proposed. A new database gets them with its catalogue."""
    Storage, Hypervisor, Configuration = (
        apps.get_model("experiments", name) for name in ("HostStorage", "Hypervisor", "Configuration")
    )
    if not Hypervisor.objects.exists():
        return
    for slug, family in FAMILIES.items():
        Hypervisor.objects.filter(slug=slug).update(family=family)
    known = {slug: row for slug, *row in ROWS}
    seen = {}  # word of a case study to whether only drafts have it, and whether it has a file system
    words = Configuration.objects.exclude(backend__in=["", *known]).order_by().distinct()
    for word, status, host_fs in words.values_list("backend", "case_study__status", "host_fs"):
        is_draft, has_files = seen.get(word, (True, False))
        seen[word] = (is_draft and status in ("draft", "submitted"), has_files or host_fs is not None)
    proposed = set(map(fold, seen))
    for slug, (name, kind, reach, family, aliases) in known.items():
        if not proposed & {fold(slug), fold(name)}:
            aliases = [alias for alias in aliases if fold(alias) not in proposed]
            Storage.objects.create(slug=slug, name=name, kind=kind, reach=reach, family=family, aliases=aliases)
    for word, (is_draft, has_files) in seen.items():
        kind = "managed" if has_files else ""
        Storage.objects.create(slug=word, name=word, kind=kind, is_draft=is_draft)


class Migration(migrations.Migration):
    dependencies = [
        ('experiments', '0007_mark_what_a_kit_planned'),
    ]

    operations = [
        migrations.CreateModel(
            name='HostStorage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_draft', models.BooleanField(default=False, editable=False, help_text='It came with a draft and only drafts use it: published with the first, deleted with the last.')),
                ('slug', models.SlugField(help_text='Stable name in addresses and the API.', max_length=40, unique=True)),
                ('name', models.CharField(help_text='As the vendor or its authors write it.', max_length=80)),
                ('aliases', experiments.models.fields.TypedJSONField(blank=True, default=list, help_text='Other spellings accepted for the slug.', schema={'items': {'maxLength': 80, 'minLength': 1, 'type': 'string'}, 'maxItems': 500, 'title': 'a list of at most 500 texts, each of 1 to 80 characters', 'type': 'array'})),
                ('description', models.TextField(blank=True)),
                ('source', models.CharField(blank=True, help_text='Paper and section of the facts stated here.', max_length=200)),
                ('kind', models.CharField(blank=True, choices=[('file', 'a file on a file system'), ('volume', 'a volume'), ('shared', 'a shared directory'), ('managed', 'a directory of a volume manager'), ('', 'not stated')], max_length=10)),
                ('reach', models.CharField(blank=True, choices=[('host', 'one host alone'), ('network', 'several hosts, over the network'), ('', 'not stated')], help_text='Who uses it.', max_length=10)),
                ('family', models.CharField(blank=True, db_default='', default='', help_text='A word that alike entries share: Rook and RBD are Ceph. Empty: none.', max_length=40)),
            ],
            options={
                'ordering': ['slug'],
                'abstract': False,
            },
        ),
        migrations.RemoveConstraint(
            model_name='configuration',
            name='experiments_configuration_volume_has_no_host_fs',
        ),
        migrations.AddField(
            model_name='hypervisor',
            name='family',
            field=models.CharField(blank=True, db_default='', default='', help_text='A word that alike entries share: Docker and Kubernetes are containers, which are alike where storage is compared. Empty: none.', max_length=40),
        ),
        migrations.AlterField(
            model_name='configuration',
            name='backend',
            field=models.CharField(blank=True, db_default='', default='', help_text="Slug of what the disk images lie on; empty: a file where the host's file system is stated, else not stated.", max_length=40, validators=[django.core.validators.RegexValidator('\\A(|(?!dir(-|\\Z)|zfs\\Z)[a-z0-9][a-z0-9-]*)\\Z')]),
        ),
        migrations.AddConstraint(
            model_name='hoststorage',
            constraint=models.CheckConstraint(condition=models.Q(('slug__regex', '\\A[a-z0-9][a-z0-9_-]*\\Z'), models.Q(('slug__regex', '(\\A|-)on(-|\\Z)'), _negated=True), models.Q(('slug__in', ('axis', 'workload', 'hypervisor', 'guest_fs', 'host_fs', 'host_storage', 'vm_count', 'storage', 'benchmark', 'guest_os_family', 'grade', 'as_of', 'entries', 'weights', 'format', 'method', 'metric', 'evidence', 'any', 'native', 'new', 'none', 'unknown', 'needs', 'cache_mode', 'disk_bus', 'image_format', 'allocation', 'io_mode', 'discard', 'iothread', 'volume_block_bytes', 'compression', 'encryption', 'snapshot', 'pool_layout', 'pool_devices', 'hypervisor_release', 'host_kernel', 'host_fs_release', 'guest_kernel', 'guest_fs_release', 'disk_driver_release')), _negated=True)), name='experiments_hoststorage_slug_fits_addresses_and_keys'),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
