"""The workloads that people name: families, what stands for each in the evidence, and the products that belong to them.

No Django. Which load a product makes is our reading of what its makers document; a reason stands beside each family,
and every page that uses it says so and offers the other families of the product.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A kind of workload that people name.

    stands : workloads of the catalogue that stand for it, the nearest first
    reason : why these do
    words : what people call it, beside the label
    """

    slug: str
    label: str
    stands: tuple[str, ...]
    reason: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Product:
    """A program or appliance. families : what it is read as first, then what else it may be asked about as"""

    name: str
    families: tuple[str, ...]
    words: tuple[str, ...] = ()


FAMILIES = {
    family.slug: family
    for family in (
        Family(
            "mail-server",
            "Mail server",
            ("varmail", "small-files", "sync-write"),
            "Each message is a small file that is created, written, synced and later read.",
            ("mail", "mails", "email", "e-mail", "mail store", "mailbox", "imap", "smtp", "maildir", "groupware"),
        ),
        Family(
            "file-server",
            "File server",
            ("fileserver", "small-files", "sequential-mixed"),
            "Many clients create, read, write and delete whole files in a tree.",
            (
                *(
                    "file",
                    "files",
                    "nas",
                    "file share",
                    "file sharing",
                    "smb",
                    "smb share",
                    "cifs",
                    "nfs server",
                    "file store",
                ),
                *(
                    "dateiserver",
                    "dateiablage",
                    "netzlaufwerk",
                    "file service",
                    "fileshare",
                    "shared folders",
                    "home directories",
                ),
            ),
        ),
        Family(
            "web-server",
            "Web server",
            ("webserver", "blog", "small-files"),
            "Many small files are read whole, and one log is appended to.",
            (
                "web",
                "website",
                "websites",
                "web site",
                "web sites",
                "http server",
                "web hosting",
                "webhosting",
                "webseite",
                "web app",
            ),
        ),
        Family(
            "database",
            "Database (transactions)",
            ("database", "sync-write", "random-write", "random-mixed"),
            "A transaction waits until its log is on the disk: small synchronous writes, beside random pages.",
            (
                *(
                    "db",
                    "dbs",
                    "databases",
                    "oltp",
                    "transactions",
                    "rdbms",
                    "sql",
                    "sql database",
                    "dbms",
                    "database server",
                ),
                *("datenbank", "datenbanken", "datenbankserver", "transactional", "key value store", "wal"),
            ),
        ),
        Family(
            "virtual-desktop",
            "Virtual desktops",
            ("vm-boot", "random-mixed", "random-write"),
            "Many machines start at once in the morning, and write at random places afterwards.",
            (
                *("vdi", "virtual desktop", "desktop", "desktops", "virtual desktop infrastructure", "boot storm"),
                *("boot storms", "remote desktop", "virtuelle desktops", "terminal server", "rds", "desktop vms"),
            ),
        ),
        Family(
            "machine-start",
            "Start of machines",
            ("vm-boot", "sequential-read", "random-read"),
            "A machine that starts reads its kernel, its libraries and its programs.",
            (
                *(
                    "boot",
                    "booting",
                    "boot time",
                    "boot times",
                    "boots",
                    "startup",
                    "start up",
                    "start time",
                    "vm start",
                    "vm starts",
                ),
                *(
                    "start of machines",
                    "start of vms",
                    "starten",
                    "startzeit",
                    "boot up",
                    "cold start",
                    "cold starts",
                    "vm startup",
                ),
            ),
        ),
        Family(
            "build-server",
            "Build server",
            ("small-files", "metadata", "fileserver"),
            "A checkout and a compiler make, look up, read and remove many small files.",
            (
                *(
                    "build",
                    "builds",
                    "ci",
                    "ci server",
                    "ci runner",
                    "ci runners",
                    "compile",
                    "compiling",
                    "compiler",
                    "build farm",
                ),
                *(
                    "kernel compile",
                    "continuous integration",
                    "build agent",
                    "build agents",
                    "build runner",
                    "build host",
                ),
            ),
        ),
        Family(
            "object-store",
            "Object store",
            ("sequential-mixed", "fileserver", "sequential-read"),
            "Objects are written and read whole, from kilobytes to gigabytes.",
            ("object storage", "object", "objects", "s3", "s3 storage", "blob store", "blob storage", "objektspeicher"),
        ),
        Family(
            "backup-target",
            "Backup target",
            ("sequential-write", "sequential-mixed", "fileserver"),
            "Long streams are written once and rarely read; deduplicating programs write many files of megabytes.",
            (
                *(
                    "backup",
                    "backups",
                    "backup server",
                    "backup storage",
                    "backup repository",
                    "backup store",
                    "archive",
                ),
                *(
                    "datensicherung",
                    "sicherung",
                    "sicherungsziel",
                    "backupziel",
                    "backup ziel",
                    "archiv",
                    "backup repo",
                ),
            ),
        ),
        Family(
            "media-server",
            "Media server",
            ("sequential-read", "fileserver"),
            "Large files are read from their beginning to their end, several at once.",
            (
                "media",
                "video",
                "video streaming",
                "streaming",
                "movies",
                "mediaserver",
                "medienserver",
                "photo library",
            ),
        ),
        Family(
            "cluster-node",
            "Nodes of a container cluster",
            ("sync-write", "small-files", "random-mixed"),
            "The cluster's store (etcd) syncs each small write; images and logs are many small files.",
            (
                "container host",
                "container hosts",
                "containers",
                "cluster node",
                "cluster nodes",
                "container cluster",
                "node pool",
            ),
        ),
        Family(
            "surveillance",
            "Video surveillance",
            ("sequential-write", "random-write"),
            "Several streams are written without a pause.",
            ("nvr", "cctv", "cameras", "camera recordings", "video surveillance", "überwachungskameras"),
        ),
    )
}

PRODUCTS = tuple(
    Product(name, families, words)
    for families, products in (
        (
            ("mail-server",),
            (
                *(("Postfix", ()), ("Dovecot", ()), ("Exim", ()), ("Sendmail", ()), ("Zimbra", ()), ("Mailcow", ())),
                *(
                    ("Cyrus IMAP", ("cyrus",)),
                    ("iRedMail", ()),
                    ("Stalwart", ()),
                    ("Kopano", ()),
                    ("Zarafa", ()),
                    ("Mailu", ()),
                ),
            ),
        ),
        (
            ("mail-server", "database"),
            (("Microsoft Exchange", ("exchange", "exchange server")), ("HCL Domino", ("domino", "lotus notes"))),
        ),
        (
            ("file-server", "database"),
            (
                *(
                    ("Nextcloud", ("next cloud",)),
                    ("ownCloud", ()),
                    ("Seafile", ()),
                    ("Synology Drive", ()),
                    ("Immich", ()),
                ),
                *(("Paperless-ngx", ("paperless",)), ("SharePoint", ()), ("Syncthing", ())),
            ),
        ),
        (("file-server",), (("Samba", ()), ("TrueNAS", ("freenas",)), ("OpenMediaVault", ("omv",)), ("DFS", ()))),
        (
            ("web-server",),
            (
                ("nginx", ()),
                ("Apache httpd", ("apache", "httpd")),
                ("Caddy", ()),
                ("lighttpd", ()),
                ("IIS", ()),
                ("HAProxy", ()),
                ("Varnish", ()),
            ),
        ),
        (
            ("web-server", "database"),
            (
                ("WordPress", ("word press",)),
                ("Drupal", ()),
                ("Joomla", ()),
                ("TYPO3", ()),
                ("Magento", ()),
                ("MediaWiki", ()),
                ("Moodle", ()),
                ("Discourse", ()),
            ),
        ),
        (
            ("database",),
            (
                *(
                    ("PostgreSQL", ("postgres", "pgsql", "psql", "pg")),
                    ("MySQL", ("innodb",)),
                    ("MariaDB", ("galera",)),
                ),
                *(
                    ("Microsoft SQL Server", ("sql server", "mssql", "ms sql")),
                    ("Oracle Database", ("oracle", "oracle db")),
                ),
                *(
                    ("MongoDB", ("mongo",)),
                    ("SQLite", ()),
                    ("Redis", ()),
                    ("Cassandra", ()),
                    ("ScyllaDB", ()),
                    ("IBM Db2", ("db2",)),
                ),
                *(
                    ("Firebird", ()),
                    ("CouchDB", ()),
                    ("InfluxDB", ("influx",)),
                    ("TimescaleDB", ()),
                    ("ClickHouse", ()),
                ),
                *(
                    ("Prometheus", ()),
                    ("Elasticsearch", ("elastic", "opensearch")),
                    ("SAP HANA", ("hana", "sap")),
                    ("RabbitMQ", ()),
                ),
                *(
                    ("Kafka", ()),
                    ("Zabbix", ()),
                    ("Odoo", ()),
                    ("Dynamics", ()),
                    ("DATEV", ()),
                    ("Active Directory", ("domain controller", "ad ds")),
                    ("Neo4j", ()),
                    ("CockroachDB", ()),
                ),
            ),
        ),
        (
            ("virtual-desktop",),
            (
                ("VMware Horizon", ("horizon view",)),
                ("Citrix Virtual Desktops", ("citrix", "xendesktop")),
                ("UDS Enterprise", ()),
            ),
        ),
        (
            ("build-server",),
            (
                ("Jenkins", ()),
                ("GitLab Runner", ("gitlab ci", "gitlab runners")),
                ("TeamCity", ()),
                ("Buildbot", ()),
                ("Drone", ()),
                ("Bazel", ()),
                ("GitHub Actions runner", ("github runner", "actions runner")),
            ),
        ),
        (
            ("file-server", "build-server", "database"),
            (("GitLab", ("git lab",)), ("Gitea", ("forgejo",)), ("Git server", ("git",))),
        ),
        (
            ("object-store",),
            (
                ("MinIO", ()),
                ("Ceph RGW", ("rados gateway", "radosgw", "rgw")),
                ("Garage", ()),
                ("SeaweedFS", ()),
                ("OpenStack Swift", ()),
            ),
        ),
        (
            ("backup-target",),
            (
                *(
                    ("Proxmox Backup Server", ("pbs",)),
                    ("Veeam", ("veeam repository",)),
                    ("restic", ()),
                    ("BorgBackup", ("borg",)),
                ),
                *(
                    ("Bacula", ("bareos",)),
                    ("UrBackup", ()),
                    ("Duplicati", ()),
                    ("Kopia", ()),
                    ("rsync", ()),
                    ("Time Machine", ()),
                    ("Commvault", ()),
                    ("NAKIVO", ()),
                    ("vzdump", ()),
                    ("rsnapshot", ()),
                    ("Amanda", ()),
                ),
            ),
        ),
        (("media-server",), (("Plex", ("plex media server",)), ("Jellyfin", ()), ("Emby", ()), ("Kodi", ()))),
        (
            ("cluster-node", "database"),
            (
                ("Kubernetes", ("kubernetes nodes", "kubernetes node", "k8s", "k8s nodes")),
                ("k3s", ("rke2",)),
                ("OpenShift", ()),
                ("Docker Swarm", ()),
                ("Nomad", ()),
                ("etcd", ()),
                ("Talos", ()),
            ),
        ),
        (
            ("surveillance",),
            (("Frigate", ()), ("Blue Iris", ()), ("ZoneMinder", ()), ("Milestone XProtect", ("xprotect",))),
        ),
    )
    for name, words in products
)
