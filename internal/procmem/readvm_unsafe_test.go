package procmem

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pages maps n pages filled with a pattern, of which the last is then unmapped.
func pages(t *testing.T, n int) []byte {
	t.Helper()
	size := os.Getpagesize()
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n*size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	m := unsafe.Slice((*byte)(p), n*size)
	for i := range m {
		m[i] = byte(i * 7)
	}
	last := unsafe.Pointer(&m[(n-1)*size])
	if err := unix.MunmapPtr(last, uintptr(size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.MunmapPtr(unsafe.Pointer(&m[0]), uintptr((n-1)*size)) })
	return m
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func TestReadsUpToTheEndOfTheMapping(t *testing.T) {
	m := pages(t, 3)
	readable := len(m) / 3 * 2
	for name, read := range map[string]func(int, uint64, []byte) (int, error){"process_vm_readv": ReadVM, "mem": readMem} {
		buf := make([]byte, len(m))
		if n, err := read(os.Getpid(), address(m)+100, buf); err != nil || n != readable-100 || !bytes.Equal(buf[:n], m[100:readable]) {
			t.Errorf("%s: %d %v", name, n, err)
		}
		if n, err := read(os.Getpid(), address(m)+uint64(readable), buf); n != 0 || err != ErrFault {
			t.Errorf("%s beyond: %d %v", name, n, err)
		}
		if n, err := read(os.Getpid(), 1<<63, buf); n != 0 || err != ErrFault {
			t.Errorf("%s wild: %d %v", name, n, err)
		}
		if n, err := read(1<<30, address(m), buf); n != 0 || err != ErrGone {
			t.Errorf("%s nobody: %d %v", name, n, err)
		}
	}
}

func TestSeveralRangesInOneCall(t *testing.T) {
	m := pages(t, 3)
	readable := uint64(len(m) / 3 * 2)
	var ranges []Range
	for i := range 40 {
		ranges = append(ranges, Range{Addr: address(m) + uint64(i), Buf: make([]byte, 10)})
	}
	ranges[3].Addr = 16                              // not mapped
	ranges[5].Addr = address(m) + readable - 4       // ends early
	ranges[7].Buf = nil                              // nothing asked for
	ranges[39].Addr = address(m) + readable - 10 - 1 // fine
	n, err := ReadVMv(os.Getpid(), ranges)
	if err != nil || n != 40*10-10-6-10 {
		t.Errorf("%d %v", n, err)
	}
	for i, r := range ranges {
		want := len(r.Buf)
		switch i {
		case 3:
			want = 0
		case 5:
			want = 4
		}
		off := r.Addr - address(m)
		if r.N != want || want > 0 && !bytes.Equal(r.Buf[:r.N], m[off:off+uint64(want)]) {
			t.Errorf("range %d: %d bytes, want %d", i, r.N, want)
		}
	}
	bad := []Range{{Addr: 16, Buf: make([]byte, 8)}}
	if n, err := ReadVMv(os.Getpid(), bad); n != 0 || err != ErrFault {
		t.Errorf("unmapped: %d %v", n, err)
	}
	if n, err := ReadVMv(1<<30, ranges); n != 0 || err != ErrGone {
		t.Errorf("nobody: %d %v", n, err)
	}
	if n, err := ReadVMv(os.Getpid(), nil); n != 0 || err != nil {
		t.Errorf("no ranges: %d %v", n, err)
	}
}

func TestErrorNumbersBecomeKinds(t *testing.T) {
	for e, want := range map[syscall.Errno]error{0: nil, syscall.ESRCH: ErrGone, syscall.ENOENT: ErrGone,
		syscall.EACCES: ErrDenied, syscall.EPERM: ErrDenied, syscall.EFAULT: ErrFault, syscall.EMFILE: syscall.EMFILE} {
		if got := classify(e); got != want {
			t.Errorf("%v: %v", e, got)
		}
	}
}

func BenchmarkReadVM16K(b *testing.B) {
	buf, src := make([]byte, 16<<10), make([]byte, 16<<10)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := ReadVM(os.Getpid(), address(src), buf); n != len(buf) {
			b.Fatal(err)
		}
	}
}
