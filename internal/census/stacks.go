package census

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// # Stacks
//
// Whoever sleeps as at its last look is told by a few words of its stack. They are read for many threads in one system
// call. For each one, a second program copies them, and reads the thread's counts and identity after that. So the proof
// is that of any peek, for each thread by itself. The census's record was of this identity, off its processor, with
// these counts. It has them still behind the copy, and so has not been on a processor in between.
//
// The copy is made by bpf_copy_from_user_task (kernel/bpf/helpers.c). It calls access_process_vm, and so reads as
// /proc/PID/mem does: no userfault is raised.

const (
	// MostAsked is how many threads are asked for at once: some tens of microseconds.
	MostAsked = 32
	// MostWords is how many bytes of a stack are read.
	MostWords  = 1 << wordsShift
	wordsShift = 12

	askShift = 6
	askBytes = 1 << askShift
	// What is asked for, and the answer. The number of threads comes first, then so much for each, then the words.
	askTID      = 0  // 4 bytes
	askLen      = 4  // 4 bytes
	askAddr     = 8  // 8 bytes
	askAnswered = 16 // 8 bytes: 1 if what follows was read
	askIdentity = 24 // 8 bytes
	askRuns     = 32 // 8 bytes
	askCPU      = 40 // 8 bytes

	askedAt = askBytes
	wordsAt = 4096
)

// Stacks reads stacks. Not safe for concurrent use.
type Stacks struct {
	loaded
	n int
}

func newStacks(types *btf.Spec) (*Stacks, error) {
	s := &Stacks{loaded: loaded{name: "stacks"}}
	err := s.makeTable(wordsAt+MostAsked*MostWords, unix.PROT_READ|unix.PROT_WRITE)
	if err == nil {
		a := assembler{types: types}
		err = s.makeProgram(&a, a.stacks(s.table.FD()))
	}
	if err != nil {
		_ = s.close() // err says what is wrong
		return nil, err
	}
	return s, nil
}

// Ask has the next [Stacks.Read] read n bytes of a thread's memory, and gives their number among the answers. It must
// not be asked for more than [MostAsked] threads, or [MostWords] bytes. The memory is to be plain
// ([prywalk/internal/procmem.Memory.Plain]).
func (s *Stacks) Ask(tid int, addr uint64, n int) (i int) {
	i = s.n
	s.n++
	b := s.ask(i)
	binary.NativeEndian.PutUint32(b[askTID:], uint32(tid))
	binary.NativeEndian.PutUint32(b[askLen:], uint32(n))
	binary.NativeEndian.PutUint64(b[askAddr:], addr)
	binary.NativeEndian.PutUint64(b[askAnswered:], 0)
	return i
}

func (s *Stacks) ask(i int) []byte { return s.mem[askedAt+i<<askShift:][:askBytes] }

// Asked gives for how many threads it was asked.
func (s *Stacks) Asked() int { return s.n }

// Read reads what was asked for. Answer gives it until the next Ask. It does not allocate.
func (s *Stacks) Read() {
	n := s.n
	s.n = 0
	binary.NativeEndian.PutUint64(s.mem, uint64(n))
	_ = s.run.RunRaw(0) // what is not read is not answered
}

// Answer gives what was read of a thread that had this record before, and sleeps since then. False: it may have run, or
// another thread has its number, or its memory cannot be read. The bytes are valid until the next Ask.
func (s *Stacks) Answer(i int, before *Record, in *Sleep) ([]byte, bool) {
	b := s.ask(i)
	if binary.NativeEndian.Uint64(b[askAnswered:]) != 1 ||
		binary.NativeEndian.Uint32(b[askTID:]) != uint32(before.TID) ||
		binary.NativeEndian.Uint64(b[askIdentity:]) != in.Identity ||
		binary.NativeEndian.Uint64(b[askRuns:]) != before.Runs ||
		binary.NativeEndian.Uint64(b[askCPU:]) != before.CPU {
		return nil, false
	}
	return s.mem[wordsAt+i<<wordsShift:][:binary.NativeEndian.Uint32(b[askLen:])], true
}

// stacks gives the instructions. R6: which one, R7: what is asked for, R8: its thread, R9: the memory.
func (a *assembler) stacks(table int) asm.Instructions {
	const iterator = 8 // place of the struct bpf_iter_num below the frame pointer
	toIterator := func(name string) asm.Instructions {
		first := asm.Mov.Reg(asm.R1, asm.RFP)
		if name != "" {
			first = first.WithSymbol(name)
		}
		return asm.Instructions{first, asm.Add.Imm(asm.R1, -iterator)}
	}
	ins := asm.Instructions{asm.LoadMapValue(asm.R9, table, 0)}
	ins = append(ins, toIterator("")...)
	ins = append(ins,
		asm.Mov.Imm(asm.R2, 0),
		asm.LoadMem(asm.R3, asm.R9, 0, asm.Word),
		a.call("bpf_iter_num_new"), // it gives nothing if the end lies before the beginning, or is too far
	)
	ins = append(ins, toIterator("next")...)
	ins = append(ins,
		a.call("bpf_iter_num_next"),
		asm.JEq.Imm(asm.R0, 0, "done"),
		asm.LoadMem(asm.R6, asm.R0, 0, asm.Word),
		asm.JGE.Imm(asm.R6, MostAsked, "done"),
		asm.Mov.Reg(asm.R7, asm.R6), asm.LSh.Imm(asm.R7, askShift),
		asm.Add.Reg(asm.R7, asm.R9), asm.Add.Imm(asm.R7, askedAt),

		asm.LoadMem(asm.R1, asm.R7, askTID, asm.Word),
		a.call("bpf_task_from_pid"),
		asm.JEq.Imm(asm.R0, 0, "next"),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.Mov.Reg(asm.R1, asm.R6), asm.LSh.Imm(asm.R1, wordsShift),
		asm.Add.Reg(asm.R1, asm.R9), asm.Add.Imm(asm.R1, wordsAt),
		asm.LoadMem(asm.R2, asm.R7, askLen, asm.Word),
		asm.JGT.Imm(asm.R2, MostWords, "release"),
		asm.LoadMem(asm.R3, asm.R7, askAddr, asm.DWord),
		asm.Mov.Reg(asm.R4, asm.R8),
		asm.Mov.Imm(asm.R5, 0),
		asm.FnCopyFromUserTask.Call(),
		asm.JNE.Imm(asm.R0, 0, "release"),
	)
	ins = append(ins, a.identity(asm.R8)...) // behind the copy, as are the counts
	return append(append(ins,
		asm.StoreMem(asm.R7, askIdentity, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R8, a.task(asm.DWord, "sched_info", "pcount"), asm.DWord),
		asm.StoreMem(asm.R7, askRuns, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R8, a.task(asm.DWord, "se", "sum_exec_runtime"), asm.DWord),
		asm.StoreMem(asm.R7, askCPU, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, askAnswered, asm.R1, asm.DWord),

		asm.Mov.Reg(asm.R1, asm.R8).WithSymbol("release"),
		a.call("bpf_task_release"),
		asm.Ja.Label("next"),
	), append(toIterator("done"),
		a.call("bpf_iter_num_destroy"),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)...)
}
