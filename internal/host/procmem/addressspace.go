// SPDX-License-Identifier: Apache-2.0

package procmem

import "golang.org/x/sys/unix"

// # Address spaces
//
// An exec gives a process a new address space (fs/exec.c, exec_mmap). Open files of [Memory] stay with the former one;
// once that has no user, reads of them return nothing (fs/proc/task_mmu.c, pagemap_read: mmget_not_zero). This shows an
// exec, also of the same program at the same addresses, but no second one of programs that may not be read. Without an
// open file the random addresses of program and stack show it. Other effects of an exec: package sampler.
//
// After vfork(2) a child uses its parent's address space until its exec: no file is kept open before.

// Space is the number of the address space: each exec that [Memory.Renew] has found raises it.
func (m *Memory) Space() uint64 { return m.space.Load() }

const renewEvery = 2e6 // ns

// Renew opens the new files and drops the mappings if an exec has ended the address space, and returns [Memory.Space].
// Precondition: no stopped thread waits for it.
func (m *Memory) Renew(pid int) uint64 {
	if closed := m.hasNoFiles(); (closed || m.Ended()) && m.opening.TryLock() {
		switch now := Now(); {
		case now-m.triedAt < renewEvery:
		case closed:
			m.triedAt = now
			m.compareStart(pid)
		case m.Ended():
			m.triedAt = now
			m.openNew(pid)
		}
		m.opening.Unlock()
	}
	return m.space.Load()
}

func (m *Memory) hasNoFiles() bool { return m.mem.fd() < 0 && m.pagemap.fd() < 0 && !m.foreign.Load() }

// compareStart finds an exec by other addresses of program and stack. Precondition: opening is locked.
func (m *Memory) compareStart(pid int) {
	var st Stat
	if ReadStat(pid, &st) != nil || st.StartCode == 0 {
		return
	}
	before, now := m.start, [2]uint64{st.StartCode, st.StartStack}
	m.start = now
	if before != now && before[0] != 0 {
		m.openFiles(pid)
		m.table.Store(nil)
		m.space.Add(1)
	}
}

// Ended reports whether the open files are of an address space without users, or none is open because it is another
// process's. A living one gives an error: EINVAL, as a byte is no entry of pagemap; else EIO, as nothing is at 0.
func (m *Memory) Ended() bool {
	fd := m.pagemap.fd()
	if fd < 0 {
		fd = m.mem.fd()
	}
	return m.foreign.Load() || fd >= 0 && isEmptied(fd)
}

func isEmptied(fd int) bool {
	var b [1]byte
	n, e := pread(fd, b[:], 0)
	return e == 0 && n == 0
}

// openNew opens the files after an exec. Precondition: opening is locked.
func (m *Memory) openNew(pid int) {
	var st Stat
	if ReadStat(pid, &st) != nil || st.StartCode == 0 {
		return // ended; or an open would wait for exec_update_lock
	}
	var p pathBuf
	fd, e := open(p.process(pid, "pagemap"), 0)
	if e == unix.ENOENT { // without CONFIG_PROC_PAGE_MONITOR, or ended
		fd, e = open(p.process(pid, "mem"), 0)
	}
	switch {
	case e == unix.EACCES || e == unix.EPERM: // the new program may not be read
		if !m.denied {
			m.denied = true
			m.space.Add(1)
		}
		return
	case e != 0: // it has ended, or there is no descriptor: the caller tries again
		return
	}
	alive := !isEmptied(fd)
	if closeFD(fd); !alive || sharesParentMemory(pid) {
		return
	}
	table := m.table.Load()
	m.openFiles(pid)
	m.table.CompareAndSwap(table, nil)
	m.denied = false
	m.triedAt = 0
	m.space.Add(1)
}
