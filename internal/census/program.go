package census

import (
	"errors"
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// What the program writes: the number of threads, 8 bytes, up to headBytes; then for
// each thread a record of recordBytes.
const (
	headBytes   = 32
	recordShift = 5
	recordBytes = 1 << recordShift

	atCPU      = 0  // 8 bytes: time on a processor, ns
	atRunQueue = 8  // 8 bytes: time queued for one, ns
	atRuns     = 16 // 8 bytes: arrivals on one
	atTID      = 24 // 4 bytes
)

// MaxThreads is the most threads that a process may have to be counted.
const MaxThreads = 1 << 16

// procThreads is BPF_TASK_ITER_PROC_THREADS (kernel/bpf/task_iter.c, an enum without a
// place in the interface for users): all threads of the task's process.
const procThreads = 2

// iterator is the place of the struct bpf_iter_task below the frame pointer.
const iterator = 24

// assembler finds what the program needs in the kernel's types; its error is sticky.
type assembler struct {
	types *btf.Spec
	err   error
}

// field gives the offset of a member of task_struct, given by the names on the way to
// it, which must have that size in bytes.
func (a *assembler) field(size int, names ...string) int16 {
	var task *btf.Struct
	if err := a.types.TypeByName("task_struct", &task); err != nil {
		a.fail(err)
		return 0
	}
	at, t := uint32(0), btf.Type(task)
	for _, name := range names {
		m := member(t, name)
		if m == nil {
			a.fail(fmt.Errorf("task_struct has no %v", names))
			return 0
		}
		at += m.Offset.Bytes()
		t = m.Type
	}
	if n, err := btf.Sizeof(t); err != nil || n != size || at > math.MaxInt16 {
		a.fail(fmt.Errorf("task_struct has another %v: %d bytes at %d", names, n, at))
		return 0
	}
	return int16(at)
}

// member gives a member of a struct, nil if t is none or has none of that name.
func member(t btf.Type, name string) *btf.Member {
	if s, ok := btf.UnderlyingType(t).(*btf.Struct); ok {
		for i := range s.Members {
			if s.Members[i].Name == name {
				return &s.Members[i]
			}
		}
	}
	return nil
}

// call gives a call of a function of the kernel.
func (a *assembler) call(name string) asm.Instruction {
	var f *btf.Func
	var id btf.TypeID
	err := a.types.TypeByName(name, &f)
	if err == nil {
		id, err = a.types.TypeID(f)
	}
	if err != nil {
		a.fail(fmt.Errorf("the kernel has no %s (it has since Linux 6.7)", name))
	}
	return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall,
		Constant: int64(id)}
}

func (a *assembler) fail(err error) {
	if a.err == nil {
		a.err = errors.Join(ErrUnsupported, err)
	}
}

// copyField copies a field of the task in R0 into the record at R2.
func (a *assembler) copyField(to int16, size asm.Size, names ...string) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R0, a.field(size.Sizeof(), names...), size),
		asm.StoreMem(asm.R2, to, asm.R1, size),
	}
}

// program gives the instructions. Its argument is the process; table is the map that
// it writes to. R6: process, R7: its first task, R8: number of the thread, R9: table.
func (a *assembler) program(table int) asm.Instructions {
	ins := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.Word),
		asm.LoadMapValue(asm.R9, table, 0),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R9, 0, asm.R1, asm.DWord),
		a.call("bpf_rcu_read_lock"), // the iterator asks for it
		asm.Mov.Reg(asm.R1, asm.R6),
		a.call("bpf_task_from_pid"),
		asm.JEq.Imm(asm.R0, 0, "unlock"),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, -iterator),
		asm.Mov.Reg(asm.R2, asm.R7),
		asm.Mov.Imm(asm.R3, procThreads),
		a.call("bpf_iter_task_new"),

		asm.Mov.Reg(asm.R1, asm.RFP).WithSymbol("next"), asm.Add.Imm(asm.R1, -iterator),
		a.call("bpf_iter_task_next"),
		asm.JEq.Imm(asm.R0, 0, "done"),
		// The count is kept in memory, not in a register, so that the verifier does
		// not follow it round by round.
		asm.LoadMem(asm.R8, asm.R9, 0, asm.DWord),
		asm.JGE.Imm(asm.R8, MaxThreads, "done"),
		asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R9, 0, asm.R1, asm.DWord),
		asm.LSh.Imm(asm.R8, recordShift),
		asm.Mov.Reg(asm.R2, asm.R9), asm.Add.Reg(asm.R2, asm.R8),
	}
	ins = append(ins, a.copyField(headBytes+atCPU, asm.DWord, "se", "sum_exec_runtime")...)
	ins = append(ins, a.copyField(headBytes+atRunQueue, asm.DWord, "sched_info", "run_delay")...)
	ins = append(ins, a.copyField(headBytes+atRuns, asm.DWord, "sched_info", "pcount")...)
	ins = append(ins, a.copyField(headBytes+atTID, asm.Word, "pid")...)
	return append(ins,
		asm.Ja.Label("next"),

		asm.Mov.Reg(asm.R1, asm.RFP).WithSymbol("done"), asm.Add.Imm(asm.R1, -iterator),
		a.call("bpf_iter_task_destroy"),
		asm.Mov.Reg(asm.R1, asm.R7),
		a.call("bpf_task_release"),
		a.call("bpf_rcu_read_unlock").WithSymbol("unlock"),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)
}
