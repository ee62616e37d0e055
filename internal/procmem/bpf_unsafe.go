package procmem

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BPFRun runs one loaded BPF program of the type "syscall" (bpf(2), BPF_PROG_RUN), as
// often as asked for, without allocation. Not safe for concurrent use.
type BPFRun struct {
	attr bpfRunAttr
	arg  [8]byte
}

// bpfRunAttr is the member test of union bpf_attr (include/uapi/linux/bpf.h).
type bpfRunAttr struct {
	prog, retval              uint32
	dataInSize, dataOutSize   uint32
	dataIn, dataOut           uint64
	repeat, duration          uint32
	ctxInSize, ctxOutSize     uint32
	ctxIn                     uintptr
	ctxOut                    uint64
	flags, cpu, batchSize, _x uint32
}

// NewBPFRun prepares to run the program with that descriptor, which must stay open.
func NewBPFRun(prog int) *BPFRun {
	return &BPFRun{attr: bpfRunAttr{prog: uint32(prog)}}
}

// Run runs the program with a number as its argument.
func (r *BPFRun) Run(arg uint64) error {
	r.prepare(arg)
	_, _, e := syscall.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&r.attr)),
		unsafe.Sizeof(r.attr))
	runtime.KeepAlive(r)
	return classify(e)
}

// RunRaw is [BPFRun.Run] without entering the Go scheduler, for a program that is soon done.
func (r *BPFRun) RunRaw(arg uint64) error {
	r.prepare(arg)
	_, _, e := syscall.RawSyscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&r.attr)),
		unsafe.Sizeof(r.attr))
	runtime.KeepAlive(r)
	return classify(e)
}

func (r *BPFRun) prepare(arg uint64) {
	*(*uint64)(unsafe.Pointer(&r.arg)) = arg
	// The kernel follows this address; r lives on the heap, where nothing moves.
	r.attr.ctxIn, r.attr.ctxInSize = uintptr(unsafe.Pointer(&r.arg)), uint32(len(r.arg))
	CountCall()
}
