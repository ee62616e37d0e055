// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"prywalk/internal/base/errs"

	"golang.org/x/sys/unix"
)

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

func TestAReadOfNothingReadsNothing(t *testing.T) {
	if n, err := ReadVM(os.Getpid(), 0, nil); n != 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestReadsUpToTheEndOfTheMapping(t *testing.T) {
	m := pages(t, 3)
	readable := len(m) / 3 * 2
	for name, read := range map[string]func(int, uint64, []byte) (int, error){"process_vm_readv": ReadVM, "mem": readMem} {
		buf := make([]byte, len(m))
		if n, err := read(os.Getpid(), address(m)+100, buf); err != nil || n != readable-100 ||
			!bytes.Equal(buf[:n], m[100:readable]) {
			t.Errorf("%s: %d bytes, %v; want %d", name, n, err, readable-100)
		}
		if n, err := read(os.Getpid(), address(m)+uint64(readable), buf); n != 0 || err != ErrFault {
			t.Errorf("%s beyond the mapping: %d bytes, %v; want 0, %v", name, n, err, ErrFault)
		}
		if n, err := read(os.Getpid(), 1<<63, buf); n != 0 || err != ErrFault {
			t.Errorf("%s at no user address: %d bytes, %v; want 0, %v", name, n, err, ErrFault)
		}
		if n, err := read(1<<30, address(m), buf); n != 0 || err != errs.Exited {
			t.Errorf("%s of no process: %d bytes, %v; want 0, %v", name, n, err, errs.Exited)
		}
	}
}

func TestErrorNumbersBecomeKinds(t *testing.T) {
	for e, want := range map[syscall.Errno]error{0: nil, syscall.ESRCH: errs.Exited, syscall.ENOENT: errs.Exited,
		syscall.EACCES: errs.Denied, syscall.EPERM: errs.Denied, syscall.EFAULT: ErrFault,
		syscall.EMFILE: syscall.EMFILE} {
		if got := classify(e); got != want {
			t.Errorf("classify(%v) = %v, want %v", e, got, want)
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
