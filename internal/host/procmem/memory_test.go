// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

var page = int(pageSize)

func mapped(t *testing.T, fd, pages, flags int) []byte {
	t.Helper()
	b, err := unix.Mmap(fd, 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

func own(t *testing.T, spans ...Span) *Memory {
	t.Helper()
	m := OpenMemory(os.Getpid())
	t.Cleanup(m.Close)
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	m.SetSpans(spans)
	return m
}

func spanOf(b []byte, kind SpanKind) Span {
	at := address(b)
	return Span{Start: at, End: at + uint64(len(b)), Kind: kind, Writable: true}
}

func protect(t *testing.T, b []byte, how int) {
	t.Helper()
	if err := unix.Mprotect(b, how); err != nil {
		t.Fatal(err)
	}
}

func TestReservedMemoryThatBecameReadableIsRead(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	protect(t, b[2*page:], unix.PROT_NONE)
	at, buf := address(b), make([]byte, 4*page)
	m := own(t, spanOf(b[:2*page], Anonymous), spanOf(b[2*page:], NotMemory))
	if !m.query(nil, at, &Span{}) {
		t.Skip("needs PROCMAP_QUERY: Linux 6.11 or later")
	}
	protect(t, b[2*page:], unix.PROT_READ|unix.PROT_WRITE)
	for _, from := range []int{2 * page, 3*page + 8} {
		if n := m.Copy(os.Getpid(), at+uint64(from), buf[:len(b)-from]); n != len(b)-from || !bytes.Equal(buf[:n], b[from:]) {
			t.Errorf("Copy from %d: %d bytes, want %d", from, n, len(b)-from)
		}
		if n, err := m.Read(os.Getpid(), at+uint64(from), buf[:len(b)-from]); n != len(b)-from || err != nil {
			t.Errorf("Read from %d: %d bytes, %v; want %d", from, n, err, len(b)-from)
		}
	}
}

func TestGrownMappingIsReadToItsEnd(t *testing.T) {
	b := mapped(t, -1, 8+2*maxStackGuard/page, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	protect(t, b[page:], unix.PROT_NONE)
	at, buf := address(b), make([]byte, len(b))
	m := own(t, spanOf(b[:page], Anonymous), spanOf(b[page:], NotMemory))
	if !m.query(nil, at, &Span{}) {
		t.Skip("needs PROCMAP_QUERY: Linux 6.11 or later")
	}
	for _, pages := range []int{2, 3, 5} {
		protect(t, b[:pages*page], unix.PROT_READ|unix.PROT_WRITE)
		for _, from := range []int{8, (pages - 1) * page} {
			if n := m.Copy(os.Getpid(), at+uint64(from), buf); n != pages*page-from ||
				!bytes.Equal(buf[:n], b[from:pages*page]) {
				t.Errorf("%d bytes of %d pages, from %d", n, pages, from)
			}
		}
	}
}

func TestEndBeforeAKnownMappingIsNotQueried(t *testing.T) {
	b := mapped(t, -1, 3+2*maxStackGuard/page, unix.MAP_PRIVATE|unix.MAP_ANON)
	protect(t, b[page:], unix.PROT_NONE)
	at, buf := address(b), make([]byte, len(b))
	stack := spanOf(b[:page], Anonymous)
	for name, c := range map[string]struct {
		spans []Span
		want  int
		asked int64
	}{
		"nothing":                   {[]Span{stack}, page, 1},
		"a guard":                   {[]Span{stack, spanOf(b[page:][:maxStackGuard], NotMemory)}, page, 0},
		"a file":                    {[]Span{stack, spanOf(b[page:], FileBacked)}, page, 0},
		"reserved memory":           {[]Span{stack, spanOf(b[page:], NotMemory)}, page, 10},
		"reserved memory, far away": {[]Span{stack, spanOf(b[page:], NotMemory)}, page - 8, 0},
	} {
		m := own(t, c.spans...)
		if !m.query(nil, at, &Span{}) {
			t.Skip("needs PROCMAP_QUERY: Linux 6.11 or later")
		}
		before := Calls()
		for range 10 {
			if n := m.Copy(os.Getpid(), at+8, buf[:c.want]); n != min(page-8, c.want) {
				t.Errorf("%s: %d bytes, want %d", name, n, min(page-8, c.want))
			}
		}
		if asked := Calls() - before - 10; asked != c.asked {
			t.Errorf("an end before %s: %d queries, want %d", name, asked, c.asked)
		}
	}
}

func TestACopyEndsWithTheMapping(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	protect(t, b[2*page:], unix.PROT_NONE)
	at, buf := address(b), make([]byte, 4*page)
	m := own(t, spanOf(b[:2*page], Anonymous), spanOf(b[2*page:], NotMemory))
	if n := m.Copy(os.Getpid(), at+100, buf); n != 2*page-100 || !bytes.Equal(buf[:n], b[100:2*page]) {
		t.Errorf("Copy returns %d bytes, want the %d to the end of the mapping", n, 2*page-100)
	}
	if n := m.Copy(os.Getpid(), at+2*pageSize, buf); n != 0 {
		t.Errorf("Copy returns %d bytes of an address without memory, want 0", n)
	}
	if n, err := m.Read(os.Getpid(), at, buf); n != 2*page || err != nil {
		t.Errorf("Read returns %d bytes, %v; want %d", n, err, 2*page)
	}
	if start := m.MappingStart(at + 10); start != at {
		t.Errorf("start %#x, want %#x", start, at)
	}
}

func TestUnknownMappingIsQueried(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err := unix.Mprotect(b[2*page:], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	b[page] = 7
	m, buf := own(t), make([]byte, 4*page)
	n := m.Copy(os.Getpid(), address(b)+pageSize, buf)
	if m.noQueries.Load() {
		if n != 0 {
			t.Errorf("%d bytes of an unknown mapping without a query, want 0", n)
		}
		t.Skip("needs PROCMAP_QUERY: Linux 6.11 or later")
	}
	if n != page || buf[0] != 7 {
		t.Errorf("%d bytes, the first %d; want %d and 7", n, buf[0], page)
	}
	before := Calls()
	m.Copy(os.Getpid(), address(b), buf)
	if calls := Calls() - before; calls != 1 {
		t.Errorf("%d calls for a mapping that was queried before, want 1", calls)
	}
}

func TestStackGrowsWithoutQueriesOfMappings(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	known := spanOf(b[2*page:], Anonymous)
	m, buf, at := own(t, known), make([]byte, 4*page), address(b)
	m.noQueries.Store(true)
	if n := m.Copy(os.Getpid(), at+pageSize+8, buf); n != 0 {
		t.Errorf("%d bytes of an unknown mapping, want 0", n)
	}
	known.Grows = true
	m.SetSpans([]Span{known})
	if n := m.Copy(os.Getpid(), at+pageSize+8, buf); n != 3*page-8 || m.MappingStart(at+pageSize+8) != at+pageSize {
		t.Errorf("%d bytes of a stack that has grown, want %d", n, 3*page-8)
	}
}

func TestOnlyPresentPagesOfAFileAreCopied(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte("x"), 4*page)); err != nil {
		t.Fatal(err)
	}
	b := mapped(t, int(f.Fd()), 4, unix.MAP_SHARED)
	b[0], b[page] = 'y', 'y'
	if err := unix.Madvise(b[2*page:], unix.MADV_DONTNEED); err != nil { // readahead may have loaded them
		t.Fatal(err)
	}
	m, buf := own(t, spanOf(b, FileBacked)), make([]byte, 4*page)
	if n := m.Copy(os.Getpid(), address(b)+8, buf); n != 2*page-8 {
		t.Errorf("%d bytes, want the %d of the two present pages", n, 2*page-8)
	}
	if n := m.Copy(os.Getpid(), address(b)+2*pageSize, buf); n != 0 {
		t.Errorf("%d bytes of absent pages, want 0", n)
	}
	if n, err := m.Read(os.Getpid(), address(b), buf); n != len(buf) || err != nil {
		t.Errorf("Read, which may wait, returns %d bytes, %v; want %d", n, err, len(buf))
	}
}

func TestPagesInSwapAreNotReadBack(t *testing.T) {
	if !isPresent(0, Anonymous) || !isPresent(pagePresent, Anonymous) || isPresent(pageSwapped, Anonymous) {
		t.Error("isPresent is wrong for anonymous memory")
	}
	if isPresent(0, FileBacked) || !isPresent(pagePresent, FileBacked) || isPresent(pageSwapped, FileBacked) {
		t.Error("isPresent is wrong for memory of a file")
	}
	b := mapped(t, -1, 130, unix.MAP_PRIVATE|unix.MAP_ANON)
	m, buf := own(t, spanOf(b, Anonymous)), make([]byte, len(b))
	m.SetSwapped(true)
	if n := m.Copy(os.Getpid(), address(b)+1, buf[:len(b)-1]); n != len(b)-1 {
		t.Errorf("%d bytes, want %d", n, len(b)-1)
	}
}

func TestMemoryOfAVforkChildIsNotKeptOpenBeforeItsExec(t *testing.T) {
	t.Run("kcmp is allowed", func(t *testing.T) { openVforkChild(t, func() {}) })
	t.Run("kcmp is refused", func(t *testing.T) { openVforkChild(t, func() { refuseOnThisThread(t, unix.SYS_KCMP) }) })
}

func openVforkChild(t *testing.T, prepare func()) {
	exe, err := testtargets.Compile("vfork.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	line, err := testtargets.Ready(t, cmd).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	OnOSThread(func() {
		prepare()
		parents := OpenMemory(cmd.Process.Pid)
		defer parents.Close()
		if parents.mem.fd() < 0 || parents.Renew(cmd.Process.Pid) != 0 {
			t.Error("the parent's memory is not kept open, or an exec was found that is none")
		}
		m := OpenMemory(child)
		defer m.Close()
		if m.mem.fd() >= 0 || m.Renew(child) != 0 {
			t.Error("memory shared with the parent is kept open")
			return
		}
		if _, err := in.Write([]byte("x")); err != nil {
			t.Error(err)
			return
		}
		for m.Renew(child) == 0 {
			if _, err := os.Stat("/proc/" + strconv.Itoa(child)); err != nil {
				t.Error(err)
				return
			}
		}
		if m.mem.fd() < 0 || m.Ended() || m.Renew(child) != 1 {
			t.Error("the new program's memory is not kept open")
		}
	})
}

// refuseOnThisThread makes a system call fail with EPERM, as a container's seccomp filter does. Precondition: the OS
// thread ends with the caller.
func refuseOnThisThread(t *testing.T, nr uint32) {
	filter := []unix.SockFilter{ // struct seccomp_data, include/uapi/linux/seccomp.h
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr},
		{Code: unix.BPF_RET | unix.BPF_K, K: seccompErrno | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: seccompAllow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Error(err)
	}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil {
		t.Error(err)
	}
}

const (
	seccompErrno = 0x00050000 // SECCOMP_RET_ERRNO
	seccompAllow = 0x7fff0000 // SECCOMP_RET_ALLOW
)

func TestMemoryCopiesWithoutAllocating(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	m, buf, pid := own(t, spanOf(b, Anonymous)), make([]byte, 100), os.Getpid()
	before := Calls()
	if n := testing.AllocsPerRun(100, func() { m.Copy(pid, address(b), buf) }); n != 0 {
		t.Errorf("%.0f allocations, want 0", n)
	}
	if calls := Calls() - before; calls != 101 {
		t.Errorf("%d calls for 101 copies, want 101", calls)
	}
}

func TestMapQueryHasTheKernelsSize(t *testing.T) {
	if size := unsafe.Sizeof(mapQuery{}); size != procmapQuery>>16&0x3fff {
		t.Errorf("mapQuery has %d bytes, want %d", size, procmapQuery>>16&0x3fff)
	}
}

// The kernel's own mappings have names.
func TestMemoryWithoutWritePermissionIsRead(t *testing.T) {
	b, err := unix.Mmap(-1, 0, int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	copy(b, "made at run time")
	if err := unix.Mprotect(b, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	m := OpenMemory(os.Getpid())
	defer m.Close()
	addr := uint64(uintptr(unsafe.Pointer(&b[0])))
	s, code, ok := m.QueryAnonymous(addr)
	if !ok {
		t.Skip("needs PROCMAP_QUERY: Linux 6.11 or later")
	}
	if code || s.Writable || s.Kind != Anonymous || addr < s.Start || addr >= s.End {
		t.Errorf("mapping %+v, code %t; want an anonymous one around %#x without write permission", s, code, addr)
	}
	var got [4]byte
	if n, err := m.Read(os.Getpid(), addr, got[:]); n != 4 || string(got[:]) != "made" {
		t.Errorf("read %q, %v; want made", got[:n], err)
	}
}

func TestManyPresentPagesAreReadInOneCall(t *testing.T) {
	pages := 3 * manyPages
	b := mapped(t, -1, pages, unix.MAP_PRIVATE|unix.MAP_ANON)
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	m, buf := own(t, spanOf(b, Anonymous)), make([]byte, len(b))
	if m.pagemap.fd() < 0 {
		t.Skip("needs pagemap: a kernel that shows which pages are present")
	}
	for _, c := range []struct{ hole, from, n, calls int }{
		{-1, 0, pages * page, 2}, {-1, 8, pages*page - 16, 2}, {-1, 8, (manyPages - 1) * page, 1},
		{pages - 1, 0, pages * page, 3}, {2, 0, pages * page, 2}, {0, page + 8, (pages - 2) * page, 2},
	} {
		for i := range b {
			b[i] = byte(i%251) + 1
		}
		if c.hole >= 0 {
			if err := unix.Madvise(b[c.hole*page:][:page], unix.MADV_DONTNEED); err != nil {
				t.Fatal(err)
			}
		}
		clear(buf)
		before := Calls()
		n := m.Copy(os.Getpid(), address(b)+uint64(c.from), buf[:c.n])
		calls := Calls() - before
		if n != c.n || !bytes.Equal(buf[:c.n], b[c.from:][:c.n]) || int(calls) != c.calls {
			t.Errorf("%+v: %d bytes, %d calls", c, n, calls)
		}
	}
}

func TestAwaitMappingsTakesTheMmapLock(t *testing.T) {
	b := mapped(t, -1, 1, unix.MAP_PRIVATE|unix.MAP_ANON)
	m, buf := own(t, spanOf(b, Anonymous)), make([]byte, 8)
	ask := func() (calls, copied int64) {
		calls, copied = Calls(), Copied()
		if took := m.AwaitMmapLock(); took < 0 {
			t.Errorf("AwaitMmapLock took %d ns, want at least 0", took)
		}
		return Calls() - calls, Copied() - copied
	}
	if calls, _ := ask(); calls != 0 {
		t.Errorf("%d calls before any copy, want 0", calls)
	}
	m.Copy(os.Getpid(), address(b), buf)
	if calls, copied := ask(); calls != 1 || copied != 0 {
		t.Errorf("after a copy: %d calls, %d bytes; want 1 and 0", calls, copied)
	}
	m.SetSpans(nil)
	if calls, _ := ask(); calls != 0 {
		t.Errorf("%d calls after the mapping is gone, want 0", calls)
	}
}
