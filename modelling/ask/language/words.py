"""The words of English and German that join names, say where something is, or say nothing. No Django.

What KDB can choose between is not here: axes, settings and names come from their own tables (`lexicon`). For a column
of a base axis there are only the words that people use beside its label.
"""


def _words(text: str) -> tuple[str, ...]:
    """Return phrases that stand between semicolons."""
    return tuple(text.split("; "))


OR, COMMA, ON, UNDER = "or", "comma", "on", "under"
GUEST, HOST, ASK, WEIGH = "guest", "host", "ask", "weigh"
MACHINES = "machines"

# What a phrase does in a sentence.
GRAMMAR = {
    OR: _words(
        "or; vs; versus; v; than; against; compared to; compared with; as opposed to; rather than; "
        "instead of; over plain; oder; gegen; statt; anstatt; als; gegenueber; im vergleich zu; or "
        "rather; or should it be"
    ),
    COMMA: (*(",", ";", "/", "|", "and", "&", "und", "plus", "bzw", "sowie"),),
    ON: _words(
        "on; on top of; ontop of; atop; auf; over; above; upon; onto; backed by; stored on; sitting on; "
        "lying on; placed on; on a; on the; on an; auf einem; auf einer; auf dem; auf der; via; through; "
        "ueber"
    ),
    UNDER: _words("under; unter; beneath; below; underneath; under a; unter einem"),
    GUEST: _words(
        "guest; guests; in the guest; in a guest; in guest; in guests; inside; inside the guest; inside "
        "guest; inside the vm; inside a vm; inside vms; in the vm; in a vm; in vm; in vms; in the vms; "
        "inside the vms; gast; im gast; gaeste; gaesten; in der vm; in den vms; in einer vm; innerhalb "
        "der vm; within the guest; within the vm; within a vm; inside of the vm; guest side; gastsystem; "
        "im gastsystem; inside the virtual machine; in the virtual machine; in a virtual machine; inside "
        "virtual machines; in virtual machines; as guest; as the guest; in the guests; inside the guests; "
        "inside my vm; in my vm; in my vms; inside my vms; inner; in virtuellen maschinen"
    ),
    HOST: _words(
        "host; hosts; on the host; on host; on a host; on the hosts; as host; on the host side; host "
        "side; hostsystem; auf dem host; am host; wirt; auf dem wirt; for images; for the images; for vm "
        "images; for vm disks; for disk images; for virtual disks; for the vm images; for vm storage; vm "
        "storage; vm images; vm image; images on; image on; disks on; images lie on; to store vms; to "
        "store images; for storing vms; for storing images; below the guest; underlying; under the vms; "
        "under the vm; beneath the vms; images; datastore; outer; fuer images; fuer vm images; fuer die "
        "images; below the vms; backing; hosted on; vm disks; vm disk; virtual disks; virtual disk; for "
        "the vm disks; on the hypervisor; for virtual machine images; virtual machine images; virtual "
        "machine disks; disk images; hypervisor side; fuer vm platten; holding the images"
    ),
    ASK: _words(
        "which; what; best; the best; which is the best; what is the best; welche; welcher; welches; "
        "welchen; welchem; beste; bester; bestes; besten; was; fastest; quickest; schnellste; "
        "schnellstes; schnellster; choose; pick; optimal; ideal; right; recommended; recommend; "
        "empfohlen; empfohlene; empfohlenes; richtige; choice of; choosing; what kind of; which kind of; "
        "was fuer ein; most suitable; suitable; empfehlt ihr; optimale; safest; sicherste"
    ),
    # One thing is weighed: is it worth it, is it slower?
    WEIGH: _words(
        "slow; slower; fast; faster; quicker; worth; worth it; worthwhile; help; helps; helpful; cost; "
        "costs; cost of; overhead; penalty; impact; effect; affect; affects; hurt; hurts; should i use; "
        "should i enable; enable; enabled; disable; turn on; turn off; better; benefit; benefits; gain; "
        "bring; langsam; langsamer; schneller; lohnt; lohnt sich; kostet; kosten; bringt; hilft; besser; "
        "bremst; matter; matters; make a difference; makes a difference; how much slower; good; bad; good "
        "idea; difference; reduce; improve; improves; slow down; slows; why; warum; einschalten; "
        "aktivieren; suitable for; ok; okay; suffer; hit; how much; wie viel; price; preis; worse; "
        "schlechter"
    ),
    MACHINES: _words(
        "vms; vm; machines; machine; virtual machines; virtual machine; guests at once; maschinen; "
        "virtuelle maschinen; virtuellen maschinen; instances; servers at once; vm's; guests; gaeste; "
        "machines at once; microvms; virtual servers"
    ),
}

SILENT_WORDS = frozenset(
    _words(
        "a; aber; about; actually; advice; after; again; against; all; alle; allem; allen; aller; alles; almost; "
        "already; also; always; am; an; andere; anderen; another; any; anybody; anymore; anyone; anything; app; "
        "application; applications; apps; are; as; at; auch; auf; aus; available; average; away; back; bare; "
        "basically; be; because; been; before; bei; beide; beiden; beim; being; benutzen; bereits; besser; besten; "
        "betreibe; betreiben; between; big; bin; bis; bitte; block; blocks; both; box; brauche; braucht; bringen; "
        "busy; but; by; can; cannot; case; cases; certain; choose; choosing; chose; clean; cluster; cold; company; "
        "compare; compared; comparison; computer; computers; concerning; correct; correctly; could; currently; d; da; "
        "damit; danke; dann; das; dass; data; datei; dateien; daten; day; days; deal; default; defaults; dein; dem; "
        "den; denn; der; des; did; die; dies; diese; diesem; diesen; dieser; dieses; difference; differences; "
        "different; disk; disks; do; doch; does; doesn; doing; don; done; dont; dort; down; drive; drives; du; durch; "
        "each; eher; eignet; ein; eine; einem; einen; einer; eines; einfach; einmal; einsetzen; either; else; "
        "empfehlen; empfehlt; empfehlung; er; es; especially; etwas; euch; eure; even; ever; every; everyone; "
        "everything; experience; false; festplatte; few; file; files; find; first; fit; fits; folks; for; frage; "
        "fresh; from; fuer; further; ganz; gar; geht; generally; gerade; gern; get; gets; getting; gibt; give; given; "
        "gives; go; goes; going; gone; got; great; gut; guys; habe; haben; had; hallo; handle; handled; handles; "
        "happen; happens; hardware; has; hat; hatte; have; having; heavy; hello; help; here; hi; hier; hilfe; hold; "
        "holds; home; homelab; host; hosted; hosting; hosts; hot; how; however; i; ich; idea; if; ihr; ihre; im; "
        "image; images; immer; in; ins; inside; into; is; isnt; ist; it; its; itself; ja; je; jede; jeder; jedes; "
        "jemand; jetzt; jeweils; just; kann; keep; kein; keine; kind; know; koennen; koennte; lab; laeuft; large; "
        "last; laufen; least; less; let; lets; level; lieber; light; like; little; ll; load; loads; local; long; "
        "looking; lot; lots; m; machen; machine; macht; mainly; make; makes; making; mal; man; many; maschine; may; "
        "me; mean; mehr; mein; meine; meinem; meinen; meiner; meisten; mich; might; migrate; migrating; mine; mir; "
        "mit; mix; mixed; mode; modes; moechte; more; most; mostly; moving; much; muss; must; my; myself; nach; need; "
        "needed; needs; nehme; nehmen; neither; new; newer; next; nice; nicht; no; noch; node; nodes; nor; normal; "
        "not; now; number; numbers; nun; nur; nutzen; nutzt; ob; oder; of; off; office; often; ohne; old; older; on; "
        "once; one; only; onto; opinion; opinions; option; options; other; others; our; out; over; own; particularly; "
        "people; per; perform; performance; performing; performs; perhaps; pick; picks; plain; plan; planning; plans; "
        "platform; platte; platten; please; point; possible; prefer; preferably; preferred; pretty; pro; production; "
        "properly; pure; purpose; purposes; put; question; quite; rather; re; real; really; reason; rechner; "
        "recommend; recommendation; recommendations; recommended; regarding; remote; run; running; runs; s; safe; "
        "same; say; schon; see; seem; seems; sehr; sein; serve; server; servers; serves; serving; set; setting; "
        "settings; setup; several; shall; she; should; sich; side; sie; simple; simply; since; sind; single; size; "
        "sizes; small; small-business; so; software; soll; sollen; sollte; sollten; some; somebody; someone; "
        "something; sonst; sort; specific; speed; speeds; speicher; standard; statt; still; storage; store; stored; "
        "stores; stuff; such; suggest; suggestion; suggestions; suited; sure; switch; switching; system; systeme; "
        "systems; t; take; taugt; tell; test; tested; testing; tests; than; thank; thanks; that; the; their; them; "
        "then; there; these; they; thing; things; think; this; those; thought; thoughts; throughput; time; times; to; "
        "today; together; tomorrow; too; tried; true; try; trying; two; type; types; typical; ueber; um; und; under; "
        "uns; unser; unsere; unter; unterschied; up; us; usage; use; used; user; users; uses; using; usually; value; "
        "values; ve; vergleich; verwenden; verwendet; very; viel; viele; vielen; virtual; virtualisation; "
        "virtualised; virtualization; virtualized; vm's; volume; volumes; vom; von; vor; vote; votes; vs; waere; "
        "want; wanted; wants; was; way; ways; we; weil; well; wenn; went; wer; werden; were; what; when; where; "
        "whether; while; who; whole; whose; why; wie; wieder; will; wir; wird; with; without; wo; wofuer; wohl; "
        "wollen; wont; work; working; workload; workloads; works; world; would; wrong; yes; yesterday; yet; you; "
        "your; yours; zu; zum; zur; zwischen"
    )
)

NUMBERS = {
    **{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10},
    **{
        "twelve": 12,
        "twenty": 20,
        "single": 1,
        "a single": 1,
        "a dozen": 12,
        "dozen": 12,
        "fifteen": 15,
        "thirty": 30,
        "fifty": 50,
    },
    **{"ein": 1, "eine": 1, "zwei": 2, "drei": 3, "vier": 4, "fuenf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9},
    **{
        "zehn": 10,
        "zwoelf": 12,
        "fuenfzehn": 15,
        "zwanzig": 20,
        "dreissig": 30,
        "fuenfzig": 50,
        "hundert": 100,
        "hundred": 100,
    },
}

# Column of an axis: what people call it beside its label and the axis's name.
COLUMN_WORDS = {
    "hypervisor": _words(
        "hypervisors; virtualisation; virtualization; virtualisation platform; virtualization platform; "
        "platform; vmm; virtual machine monitor; virtualiser; virtualizer; virtualisierung; "
        "virtualisierungsplattform; plattform; virtualisation stack; virtualization stack; virtualisation "
        "software; virtualization software; virtualisierungsloesung; virtualisation solution; "
        "virtualization solution"
    ),
    "guest_fs": _words(
        "guest fs; guest filesystem; file system of the guest; file system of the vm; gastdateisystem; gfs"
    ),
    "host_fs": _words(
        "host fs; host filesystem; file system of the host; file system for images; hostdateisystem; hfs"
    ),
    "host_storage": _words(
        "storage; host storage; storage backend; storage type; vm storage; backend; back end; datastore "
        "type; storage system; storage for vms; storage for images; storage solution; speicherbackend; "
        "storage class; storage layer; kind of storage; storage stack; csi driver; csi; volume manager; "
        "shared storage; storage option; network storage protocol; speicher backend; storage pool; "
        "storage pool type; live on; where do i put; where to put; where should i put; where to store; "
        "wohin; worauf; wohin mit"
    ),
    "cache_mode": _words(
        "cache modus; cachemodus; cache modes; cache policy; festplattencache; disk cache mode; "
        "cacheeinstellung; cache einstellung; cache option"
    ),
    "image_format": _words(
        "abbildformat; imageformat; image formats; plattenformat; disk formats; dateiformat der platte; "
        "image file format; festplattenformat"
    ),
    "disk_bus": _words(
        "festplattencontroller; plattencontroller; controllers; controller type; scsi controller; bus "
        "type; storage driver; virtio driver"
    ),
    "io_mode": _words(
        "async io mode; aio setting; asynchronous i/o; i/o engine; io backend; i/o backend; io modus; i/o modus"
    ),
    "allocation": _words(
        "vorbelegung; thin oder thick; speicherzuteilung; provisionierung; preallocate; pre-allocation; "
        "disk provisioning"
    ),
    "discard": ("trim support", "fstrim", "trimmen", "unmap"),
    "volume_block_bytes": _words(
        "block size; blocksize; blockgroesse; volume block size; zvol block size; volblock size; "
        "clustergroesse; cluster sizes; record sizes; recordsizes; extended l2"
    ),
    "compression": _words("kompression; komprimierung; compressing; komprimieren; compression algorithm"),
    "encryption": _words("verschluesselung; verschluesselt; verschluesseln; encrypting; disk encryption"),
    "snapshot": ("schnappschuss", "schnappschuesse", "snapshotting"),
    "pool_layout": _words("raidz or mirror; pool topology; raid layout; raidlevel; vdevs; vdev"),
    "pool_devices": (),
    "hypervisor_release": _words(
        "hypervisor upgrade; release; releases; update; upgrade; neue version; neues release; version; "
        "versions; newer version; latest version; upgraded; upgrading"
    ),
    "host_kernel": ("linux kernel", "kernels", "neuer kernel", "host kernels"),
}
# Words for one file system, of guest or host: which of them, the words beside it say.
FILE_SYSTEM_WORDS = _words(
    "file system; filesystem; file-system; fs; dateisystem; file systems; filesystems; dateisysteme; dateisystems"
)
CONFIGURATION_WORDS = _words(
    "setup; setups; settings; stack; einstellungen; complete stack; configuration; configurations; "
    "konfiguration; whole setup; combination; kombination; whole configuration; full setup; overall "
    "setup; complete setup; whole stack; full stack"
)
PAIR_WORDS = _words(
    "file system pair; fs pair; pair; pair of file systems; file system combination; fs combination; "
    "dateisystempaar; guest and host file system; guest and host file systems; guest host pair; "
    "guest/host pair; combination of file systems; guest and host fs; host and guest file system; "
    "file systems in guest and host; file system combo; pairing"
)

# What numbers are of, beside the names of experiments.names.
METRIC_WORDS = {
    "latency": _words(
        "latency; latencies; latenz; latenzen; response time; response times; antwortzeit; lowest latency"
    ),
    "operation_rate": ("iops", "operations per second", "ops/s", "operation rate"),
}

# Names that are ordinary words: they count beside the name of their setting, or in a list with others of their kind.
ORDINARY = frozenset(
    _words(
        "none; off; on; yes; no; full; single; guest; block; image; storage; special; ignore; cache; internal; "
        "overlay; dynamic; default; mixed; native; threads; replication; local; crypto; mirrored; unmap; partition; "
        "dir; folder; filesystem; diskspeed; fixed"
    )
)
HOST_ONLY = frozenset(("zfs", "vmfs", "cephfs", "openzfs"))  # read as of the host where the words leave it open
