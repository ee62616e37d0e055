package census

import (
	"errors"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// loaded is a program, with the memory that it shares with this process.
type loaded struct {
	name  string // for whoever lists what is loaded
	prog  *ebpf.Program
	table *ebpf.Map
	mem   []byte
	run   *procmem.BPFRun
}

// makeTable makes and maps the memory: so many bytes, with that access.
func (l *loaded) makeTable(size, access int) error {
	var err error
	l.table, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: l.name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1,
		Flags: unix.BPF_F_MMAPABLE,
	})
	if err != nil {
		return refused(err)
	}
	page := os.Getpagesize()
	l.mem, err = unix.Mmap(l.table.FD(), 0, (size+page-1)/page*page, access, unix.MAP_SHARED)
	if err != nil {
		return refused(err)
	}
	return nil
}

// makeProgram makes the program that was assembled.
func (l *loaded) makeProgram(a *assembler, ins asm.Instructions) error {
	if a.err != nil {
		return a.err
	}
	var err error
	l.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: l.name, Type: ebpf.Syscall, License: "GPL", Flags: unix.BPF_F_SLEEPABLE, Instructions: ins,
	})
	if err != nil {
		return refused(err)
	}
	l.run = procmem.NewBPFRun(l.prog.FD())
	return nil
}

// close lets go of what there is.
func (l *loaded) close() error {
	var errs []error
	if l.mem != nil {
		errs = append(errs, unix.Munmap(l.mem))
		l.mem = nil
	}
	if l.prog != nil {
		errs = append(errs, l.prog.Close())
	}
	if l.table != nil {
		errs = append(errs, l.table.Close())
	}
	return errors.Join(errs...)
}
