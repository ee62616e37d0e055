// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"prywalk/frames"
	"prywalk/internal/base/errs"
)

// ReadVM copies a process's memory at addr, and waits for missing pages. It returns the number of bytes. Errors:
// [errs.Exited], [errs.Denied], [ErrFault], or an errno. Where process_vm_readv(2) is refused, it reads
// /proc/PID/mem.
func ReadVM(pid int, addr uint64, buf []byte) (int, error) {
	return readVMBy(RawReadVM, pid, addr, buf)
}

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
			if e == 0 { // the address space has ended
				return 0, errs.Exited
			}
			if e == syscall.EINVAL {
				return 0, ErrFault
			}
			return 0, classify(e)
		}
		total += n
	}
	return total, nil
}

// MaxParts bounds the regions of [Memory.ReadParts].
const MaxParts = 32

// ReadParts reads at most [MaxParts] parts in one system call, and may wait for a file. It returns the number of parts
// before the first unknown or incomplete one.
func (m *Memory) ReadParts(tid int, parts []frames.Region) (whole int) {
	k := 0
	for k < min(len(parts), MaxParts) {
		addr, n := parts[k].Addr, uint64(len(parts[k].Bytes))
		var s Span
		if n == 0 || !findSpan(m.table.Load(), addr, &s) || s.Kind == NotMemory || s.End-addr < n {
			break
		}
		k++
	}
	if k == 0 {
		return 0
	}
	n, _ := vmReadPartsMayWait(tid, parts[:k])
	for ; whole < k && n >= len(parts[whole].Bytes); whole++ {
		n -= len(parts[whole].Bytes)
	}
	return whole
}

// Touch writes to each page of a buffer of zeros: a later read into it waits for no page fault.
func Touch(b []byte) {
	for i := uint64(0); i < uint64(len(b)); i += pageSize {
		b[i] = 0
	}
	if len(b) > 0 {
		b[len(b)-1] = 0
	}
}
