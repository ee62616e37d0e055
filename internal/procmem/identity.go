// SPDX-License-Identifier: Apache-2.0

package procmem

// identity tells a thread from a later one with the same number, for files that are
// opened anew at each read. (One that is kept open stays the old thread's.)
type identity struct {
	inode uint64 // of the file when it was last opened
	start uint64 // when the thread was started, in clock ticks after boot
}

// same reports whether the thread that an open file below /proc/PID/task/TID belongs to is the one of the first call.
// The kernel numbers the inodes below /proc as it makes them, and makes new ones for a new thread (fs/proc/base.c,
// pid_revalidate), but also when it was short of memory. So another number is not proof, and only then is the time of
// the thread's start looked at.
func (i *identity) same(fd int, f *ThreadFiles) bool {
	st, e := fstat(fd)
	if e != 0 {
		return false
	}
	if st.Ino == i.inode {
		return true
	}
	stat, e := f.open(fileStat)
	if e != 0 {
		return false
	}
	var buf [1024]byte
	var s Stat
	n, _ := pread(stat, buf[:], 0)
	closeFD(stat)
	if ParseStat(buf[:n], &s) != nil || i.inode != 0 && s.StartTime != i.start {
		return false
	}
	i.inode, i.start = st.Ino, s.StartTime
	return true
}
