package testenv

import "syscall"

// ramDisk is a folder in memory, "" where there is none or not enough room in it.
func ramDisk() string {
	const dir, enough = "/dev/shm", 8 << 30
	var disk syscall.Statfs_t
	var memory syscall.Sysinfo_t
	if syscall.Statfs(dir, &disk) != nil || syscall.Sysinfo(&memory) != nil {
		return ""
	}
	const tmpfs = 0x01021994 // statfs(2)
	room := disk.Bavail * uint64(disk.Bsize)
	free := (memory.Freeram + memory.Bufferram) * uint64(memory.Unit)
	if disk.Type != tmpfs || room < enough || free < enough {
		return ""
	}
	return dir
}
