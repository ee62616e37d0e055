package procmem

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
)

// MaxParts is how many places [Memory.ReadParts] reads.
const MaxParts = 32

// ReadParts reads several places in one system call, in their order: as many bytes at each Addr as its Bytes are long. It
// gives how many of them were read whole, up to the first that was not. It may wait for a file, as [Memory.Read] does.
// It ends before a place that is not known to be memory, and behind [MaxParts] of them; 0 where the call is refused.
func (m *Memory) ReadParts(tid int, parts []frames.Region) (whole int) {
	var local [MaxParts]unix.Iovec
	var remote [MaxParts]unix.RemoteIovec
	k := 0
	for k < min(len(parts), MaxParts) {
		addr, b := parts[k].Addr, parts[k].Bytes
		var s Span
		if len(b) == 0 || !m.find(addr, &s) || s.Kind == NotMemory || s.End-addr < uint64(len(b)) {
			break
		}
		local[k] = unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}
		remote[k] = unix.RemoteIovec{Base: uintptr(addr), Len: len(b)}
		k++
	}
	if k == 0 {
		return 0
	}
	CountCall()
	got, _, e := syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), uintptr(k), uintptr(unsafe.Pointer(&remote)), uintptr(k), 0)
	n := count(got, e)
	CountCopied(n)
	for whole < k && n >= len(parts[whole].Bytes) {
		n -= len(parts[whole].Bytes)
		whole++
	}
	return whole
}
