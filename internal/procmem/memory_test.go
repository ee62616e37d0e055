// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

func spanOf(b []byte, kind Kind) Span {
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
	if !m.ask(nil, at, &Span{}) {
		t.Skip("the kernel does not answer questions for single mappings (before Linux 6.11)")
	}
	protect(t, b[2*page:], unix.PROT_READ|unix.PROT_WRITE)
	for _, from := range []int{2 * page, 3*page + 8} {
		if n := m.Copy(os.Getpid(), at+uint64(from), buf[:len(b)-from]); n != len(b)-from || !bytes.Equal(buf[:n], b[from:]) {
			t.Errorf("copy from %d: %d bytes", from, n)
		}
		if n, err := m.Read(os.Getpid(), at+uint64(from), buf[:len(b)-from]); n != len(b)-from || err != nil {
			t.Errorf("read from %d: %d bytes, %v", from, n, err)
		}
	}
}

// The earlier answer is outdated.
func TestAMappingThatHasGrownIsReadToItsEnd(t *testing.T) {
	b := mapped(t, -1, 8+2*mostGuard/page, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	protect(t, b[page:], unix.PROT_NONE)
	at, buf := address(b), make([]byte, len(b))
	m := own(t, spanOf(b[:page], Anonymous), spanOf(b[page:], NotMemory))
	if !m.ask(nil, at, &Span{}) {
		t.Skip("the kernel does not answer questions for single mappings (before Linux 6.11)")
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

func TestAnEndThatStaysIsNotAskedFor(t *testing.T) {
	b := mapped(t, -1, 3+2*mostGuard/page, unix.MAP_PRIVATE|unix.MAP_ANON)
	protect(t, b[page:], unix.PROT_NONE)
	at, buf := address(b), make([]byte, len(b))
	stack := spanOf(b[:page], Anonymous)
	for name, c := range map[string]struct {
		spans []Span
		want  int
		asked int64
	}{
		"nothing":                   {[]Span{stack}, page, 1},
		"a guard":                   {[]Span{stack, spanOf(b[page:][:mostGuard], NotMemory)}, page, 0},
		"a file":                    {[]Span{stack, spanOf(b[page:], OfFile)}, page, 0},
		"reserved memory":           {[]Span{stack, spanOf(b[page:], NotMemory)}, page, 10},
		"reserved memory, far away": {[]Span{stack, spanOf(b[page:], NotMemory)}, page - 8, 0},
	} {
		m := own(t, c.spans...)
		if !m.ask(nil, at, &Span{}) {
			t.Skip("the kernel does not answer questions for single mappings (before Linux 6.11)")
		}
		before := Calls()
		for range 10 {
			if n := m.Copy(os.Getpid(), at+8, buf[:c.want]); n != min(page-8, c.want) {
				t.Errorf("%s: %d bytes", name, n)
			}
		}
		if asked := Calls() - before - 10; asked != c.asked {
			t.Errorf("the kernel was asked %d times of an end before %s", asked, name)
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
		t.Errorf("%d bytes", n)
	}
	if n := m.Copy(os.Getpid(), at+2*pageSize, buf); n != 0 {
		t.Errorf("%d bytes of what is no memory", n)
	}
	if n, err := m.Read(os.Getpid(), at, buf); n != 2*page || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if start := m.Start(at + 10); start != at {
		t.Errorf("start %#x, want %#x", start, at)
	}
}

func TestAMappingThatIsNotKnownIsAskedFor(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err := unix.Mprotect(b[2*page:], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	b[page] = 7
	m, buf := own(t), make([]byte, 4*page)
	n := m.Copy(os.Getpid(), address(b)+pageSize, buf)
	if m.noQueries.Load() {
		if n != 0 {
			t.Errorf("%d bytes of what nobody knows", n)
		}
		t.Skip("the kernel does not answer single questions (before Linux 6.11)")
	}
	if n != page || buf[0] != 7 {
		t.Errorf("%d bytes, %d", n, buf[0])
	}
	before := Calls()
	m.Copy(os.Getpid(), address(b), buf)
	if calls := Calls() - before; calls != 1 {
		t.Errorf("%d calls for a mapping that was asked for before", calls)
	}
}

func TestAKernelThatDoesNotAnswer(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	known := spanOf(b[2*page:], Anonymous)
	m, buf, at := own(t, known), make([]byte, 4*page), address(b)
	m.noQueries.Store(true)
	if n := m.Copy(os.Getpid(), at+pageSize+8, buf); n != 0 {
		t.Errorf("%d bytes of what nobody knows", n)
	}
	known.Grows = true
	m.SetSpans([]Span{known})
	if n := m.Copy(os.Getpid(), at+pageSize+8, buf); n != 3*page-8 || m.Start(at+pageSize+8) != at+pageSize {
		t.Errorf("%d bytes of a stack that has grown", n)
	}
}

func TestOnlyPagesThatAreThereAreReadOfAFile(t *testing.T) {
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
	m, buf := own(t, spanOf(b, OfFile)), make([]byte, 4*page)
	if n := m.Copy(os.Getpid(), address(b)+8, buf); n != 2*page-8 {
		t.Errorf("%d bytes, want those of the two pages that are there", n)
	}
	if n := m.Copy(os.Getpid(), address(b)+2*pageSize, buf); n != 0 {
		t.Errorf("%d bytes of pages that are not there", n)
	}
	if n, err := m.Read(os.Getpid(), address(b), buf); n != len(buf) || err != nil {
		t.Errorf("whoever may wait reads %d bytes, %v", n, err)
	}
}

// In a stop, and if shared or the file's, each time.
func TestAPageOfItsOwnIsAskedForOnce(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte("x"), 4*page)); err != nil {
		t.Fatal(err)
	}
	private, shared := mapped(t, int(f.Fd()), 4, unix.MAP_PRIVATE), mapped(t, int(f.Fd()), 4, unix.MAP_SHARED)
	for i := range 2 {
		private[i*page], shared[i*page] = 'y', 'y'
	}
	touched := private[3*page]
	runtime.KeepAlive(touched)
	m := own(t, spanOf(private, OfFile), spanOf(shared, OfFile))
	m.SetSwapped(false)
	var buf [64]byte
	for _, b := range [][]byte{private[2*page:], shared} {
		m.CopyKnown(os.Getpid(), address(b), buf[:])
	}
	cost := func(b []byte) int64 {
		before := Calls()
		if n := m.CopyKnown(os.Getpid(), address(b), buf[:]); n != len(buf) {
			t.Errorf("%d bytes", n)
		}
		return Calls() - before
	}
	for _, c := range []struct {
		what string
		b    []byte
		want int64
	}{
		{"at first", private[8:], 2}, {"again", private[16:], 1}, {"the next page, too", private[page-8:], 2},
		{"both again", private[page-8:], 1},
		{"the file's", private[3*page:], 2}, {"the file's again", private[3*page:], 2}, {"shared", shared, 2},
		{"shared again", shared, 2},
	} {
		if got := cost(c.b); got != c.want {
			t.Errorf("%s: %d calls, want %d", c.what, got, c.want)
		}
	}
	if err := unix.Madvise(private[page:2*page], unix.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if n := m.Copy(os.Getpid(), address(private[page:]), buf[:]); n != 0 {
		t.Errorf("in a stop: %d bytes of a page that was given up", n)
	}
	m.SetSwapped(false)
	if got := cost(private); got != 2 {
		t.Errorf("after the mappings were read anew: %d calls", got)
	}
	m.SetSwapped(true)
	if got := cost(private) + cost(private); got != 4 {
		t.Errorf("twice while pages are in swap: %d calls", got)
	}
}

func TestPagesInSwapAreNotReadBack(t *testing.T) {
	if !isPresent(0, Anonymous) || !isPresent(pagePresent, Anonymous) || isPresent(pageSwapped, Anonymous) {
		t.Error("anonymous memory")
	}
	if isPresent(0, OfFile) || !isPresent(pagePresent, OfFile) || isPresent(pageSwapped, OfFile) {
		t.Error("a file's")
	}
	b := mapped(t, -1, 130, unix.MAP_PRIVATE|unix.MAP_ANON)
	m, buf := own(t, spanOf(b, Anonymous)), make([]byte, len(b))
	m.SetSwapped(true)
	if n := m.Copy(os.Getpid(), address(b)+1, buf[:len(b)-1]); n != len(b)-1 {
		t.Errorf("%d bytes", n)
	}
}

func TestAVforkChildsMemoryIsNotKept(t *testing.T) {
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
	m := OpenMemory(child)
	defer m.Close()
	if m.mem.get() >= 0 || !m.Stale() {
		t.Error("it was opened")
	}
	m = OpenMemory(cmd.Process.Pid)
	defer m.Close()
	if m.mem.get() < 0 || m.Stale() {
		t.Error("the parent's was not")
	}
}

func TestMemoryCopiesWithoutAllocating(t *testing.T) {
	b := mapped(t, -1, 4, unix.MAP_PRIVATE|unix.MAP_ANON)
	m, buf, pid := own(t, spanOf(b, Anonymous)), make([]byte, 100), os.Getpid()
	before := Calls()
	if n := testing.AllocsPerRun(100, func() { m.Copy(pid, address(b), buf) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
	if calls := Calls() - before; calls != 101 {
		t.Errorf("%d calls for 101 copies", calls)
	}
}

// The request number contains the size.
func TestQueryIsAsLargeAsTheKernels(t *testing.T) {
	if size := unsafe.Sizeof(mapQuery{}); size != procmapQuery>>16&0x3fff {
		t.Errorf("%d bytes", size)
	}
}

func TestAPageIsAskedAboutBeforeAStop(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte("x"), 2*page)); err != nil {
		t.Fatal(err)
	}
	b := mapped(t, int(f.Fd()), 2, unix.MAP_PRIVATE)
	b[0] = 'y'
	if b[page] != 'x' {
		t.Fatal(b[page])
	}
	m, at := own(t, spanOf(b, OfFile)), address(b)
	calls := func(at uint64) int64 {
		buf, before := make([]byte, 64), Calls()
		if n := m.Copy(os.Getpid(), at, buf); n != len(buf) || buf[8] != 'x' {
			t.Errorf("%d bytes, %q", n, buf)
		}
		return Calls() - before
	}
	if n := calls(at + 8); n != 2 {
		t.Errorf("%d calls for what nobody asked about", n)
	}
	m.CheckPresent(at, 128)
	if inside, beyond := calls(at+8), calls(at+100); inside != 1 || beyond != 2 {
		t.Errorf("%d calls for what was asked about, %d beyond", inside, beyond)
	}
	m.checked.until = 1
	if n := calls(at + 8); n != 2 {
		t.Errorf("%d calls when the answer is too old", n)
	}
	m.CheckPresent(at+pageSize+8, 64)
	if n := calls(at + pageSize + 8); n != 2 {
		t.Errorf("%d calls for a page of the file", n)
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
	s, code, ok := m.MadeAt(addr)
	if !ok {
		t.Skip("the kernel does not answer questions about single mappings (before Linux 6.11)")
	}
	if code || s.Writable || s.Kind != Anonymous || addr < s.Start || addr >= s.End {
		t.Errorf("%+v, code %t", s, code)
	}
	var got [4]byte
	if n, err := m.Read(os.Getpid(), addr, got[:]); n != 4 || string(got[:]) != "made" {
		t.Errorf("%q, %v", got[:n], err)
	}
}

func TestManyPagesThatAreThereAreReadInOneCall(t *testing.T) {
	pages := 3 * manyPages
	b := mapped(t, -1, pages, unix.MAP_PRIVATE|unix.MAP_ANON)
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	m, buf := own(t, spanOf(b, Anonymous)), make([]byte, len(b))
	if m.pagemap.get() < 0 {
		t.Skip("the kernel does not tell which pages are there")
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

func TestTheLockOfTheMappingsIsTaken(t *testing.T) {
	b := mapped(t, -1, 1, unix.MAP_PRIVATE|unix.MAP_ANON)
	m, buf := own(t, spanOf(b, Anonymous)), make([]byte, 8)
	ask := func() (calls, copied int64) {
		calls, copied = Calls(), Copied()
		if took := m.AwaitMappings(); took < 0 {
			t.Errorf("%d ns", took)
		}
		return Calls() - calls, Copied() - copied
	}
	if calls, _ := ask(); calls != 0 {
		t.Errorf("%d calls where nothing was copied", calls)
	}
	m.Copy(os.Getpid(), address(b), buf)
	if calls, copied := ask(); calls != 1 || copied != 0 {
		t.Errorf("%d calls, %d bytes", calls, copied)
	}
	m.SetSpans(nil)
	if calls, _ := ask(); calls != 0 {
		t.Errorf("%d calls where the mapping is gone", calls)
	}
}
