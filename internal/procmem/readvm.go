// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"prywalk/frames"
	"prywalk/internal/refusal"
)

// ReadVM copies memory of a process at addr into buf, and gives the number of bytes read. That is less than asked
// for where the mapped memory ends, which is no error as long as something was read. Errors: [refusal.Gone],
// [refusal.Denied], [ErrFault]. Nothing is stopped: a running owner may write meanwhile. It waits for pages that
// somebody has to provide first; [Memory] does not.
//
// Where process_vm_readv is filtered or missing, it reads /proc/PID/mem.
func ReadVM(pid int, addr uint64, buf []byte) (int, error) {
	return readVMBy(vmRead, pid, addr, buf)
}

// readVMBy is ReadVM by a function.
func readVMBy(vm func(int, uint64, []byte) (int, syscall.Errno), pid int, addr uint64, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	n, e := vm(pid, addr, buf)
	if e == syscall.EPERM || e == syscall.ENOSYS {
		return readMem(pid, addr, buf)
	}
	return n, classify(e)
}

// readMem reads through /proc/PID/mem, which asks for the same permission but is
// no system call of its own that a filter might refuse.
func readMem(pid int, addr uint64, buf []byte) (int, error) {
	var p pathBuf
	fd, e := open(p.process(pid, "mem"), 0)
	if e != 0 {
		return 0, classify(e)
	}
	defer closeFD(fd)
	total := 0
	for total < len(buf) {
		n, e := pread(fd, buf[total:], addr+uint64(total))
		if n <= 0 {
			if total > 0 {
				break
			}
			if e == 0 { // the address space has gone
				return 0, refusal.Gone
			}
			if e == syscall.EINVAL { // an offset that is negative as a number
				return 0, ErrFault
			}
			return 0, classify(e)
		}
		total += n
	}
	return total, nil
}

// MaxParts is how many places [Memory.ReadParts] reads.
const MaxParts = 32

// ReadParts reads several places in one system call, in their order: as many bytes at each Addr as its Bytes are long.
// It gives how many of them were read whole, up to the first that was not. It may wait for a file, as [Memory.Read]
// does. It ends before a place that is not known to be memory, and behind [MaxParts] of them; 0 where the
// call is refused.
func (m *Memory) ReadParts(tid int, parts []frames.Region) (whole int) {
	k := 0
	for k < min(len(parts), MaxParts) {
		addr, n := parts[k].Addr, uint64(len(parts[k].Bytes))
		var s Span
		if n == 0 || !m.find(addr, &s) || s.Kind == NotMemory || s.End-addr < n {
			break
		}
		k++
	}
	if k == 0 {
		return 0
	}
	for n := vmReadPartsMayWait(tid, parts[:k]); whole < k && n >= len(parts[whole].Bytes); whole++ {
		n -= len(parts[whole].Bytes)
	}
	return whole
}
