// SPDX-License-Identifier: Apache-2.0

package procmem

// identity distinguishes threads with the same id where files are not kept open.
type identity struct {
	inode uint64
	start uint64 // clock ticks since boot
}

// isSameThread compares the inode; if that differs (fs/proc/base.c, pid_revalidate; or memory pressure), the start
// time.
func (i *identity) isSameThread(fd int, f *ThreadFiles) bool {
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
