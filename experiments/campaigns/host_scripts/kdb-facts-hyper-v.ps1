# What a campaign on a virtual machine of Hyper-V cannot find out from inside: paste what this prints into the host's page in KDB.
# Run it in an elevated PowerShell on the host; it changes nothing, and asks nothing over the network.
#
#     .\kdb-facts-hyper-v.ps1 "NAME OF THE MACHINE" [-Disk 0]
param([Parameter(Mandatory)] [string] $Machine, [int] $Disk = 0)
$ErrorActionPreference = 'Stop'
$culture = [Globalization.CultureInfo]::InvariantCulture

$vm = Get-VM -Name $Machine
$drives = @(Get-VMHardDiskDrive -VMName $Machine)
if ($Disk -ge $drives.Count) { throw "$Machine has $($drives.Count) disks, counted from 0" }
$drive = $drives[$Disk]
$system = Get-CimInstance -ClassName Win32_OperatingSystem

"kdb-facts: 1"
"hypervisor: hyper-v"
"hypervisor_release: $($system.Caption.Trim()) $($system.Version)"
"virtualisation: full"
"virtual_devices: generation $($vm.Generation)"
"disk_bus: $("$($drive.ControllerType)".ToLower())"
"vm_vcpus: $($vm.ProcessorCount)"
"vm_ram_gib: $(($vm.MemoryStartup / 1GB).ToString($culture))"
if ($null -ne $drive.DiskNumber) {
    "backend: raw"
    "vm_disk: physical disk $($drive.DiskNumber)"
} else {
    $image = Get-VHD -Path $drive.Path
    "image_format: $("$($image.VhdFormat)".ToLower())"
    if ("$($image.VhdType)" -eq 'Dynamic') { "allocation: sparse" }
    "vm_disk: $($image.VhdType), $(($image.Size / 1GB).ToString($culture)) GiB"
}
