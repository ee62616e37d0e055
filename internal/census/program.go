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
	headBytes   = 128
	recordShift = 7
	recordBytes = 1 << recordShift

	atCPU      = 0  // 8 bytes: time on a processor, ns
	atRunQueue = 8  // 8 bytes: time queued for one, ns
	atRuns     = 16 // 8 bytes: arrivals on one
	atTID      = 24 // 4 bytes
	atOff      = 28 // 4 bytes: 1 if it was off its processor and not queued, so that what follows is known

	atState     = 32  // 4 bytes: the kernel's state of the task
	atProcessor = 36  // 4 bytes: where it ran last
	atLastRun   = 40  // 8 bytes: when it was taken off, the scheduler's clock, ns
	atCall      = 48  // 8 bytes: the system call's number, of which the kernel uses the lower 4
	atArgs      = 56  // 6 times 8 bytes
	atSP        = 104 // 8 bytes
	atPC        = 112 // 8 bytes
	atIdentity  = 120 // 8 bytes: see [assembler.identity]
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

// task gives the offset of a member of task_struct.
func (a *assembler) task(size asm.Size, names ...string) int16 {
	return a.field("task_struct", size, names...)
}

// field gives the offset of a member of a struct, given by the names on the way to
// it, which must have that size in bytes.
func (a *assembler) field(of string, size asm.Size, names ...string) int16 {
	var in *btf.Struct
	if err := a.types.TypeByName(of, &in); err != nil {
		a.fail(err)
		return 0
	}
	at, t := uint32(0), btf.Type(in)
	for _, name := range names {
		m := member(t, name)
		if m == nil {
			a.fail(fmt.Errorf("%s has no %v", of, names))
			return 0
		}
		at += m.Offset.Bytes()
		t = m.Type
	}
	if n, err := btf.Sizeof(t); err != nil || n != size.Sizeof() || at > math.MaxInt16 {
		a.fail(fmt.Errorf("%s has another %v: %d bytes at %d", of, names, n, at))
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

// copyField copies a field of the task in R6 into the record at R2.
func (a *assembler) copyField(to int16, size asm.Size, names ...string) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R6, a.task(size, names...), size),
		asm.StoreMem(asm.R2, headBytes+to, asm.R1, size),
	}
}

// program gives the instructions. Its argument is the process; table is the map that
// it writes to. R6: process, then task, R7: its first task, R8: place of the thread's record, R9: table.
// asleep: it writes where threads sleep, too.
func (a *assembler) program(table int, asleep bool) asm.Instructions {
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
		asm.Mov.Reg(asm.R6, asm.R0),
		// The count is kept in memory, not in a register, so that the verifier does
		// not follow it round by round.
		asm.LoadMem(asm.R8, asm.R9, 0, asm.DWord),
		asm.JGE.Imm(asm.R8, MaxThreads, "done"),
		asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R9, 0, asm.R1, asm.DWord),
		asm.LSh.Imm(asm.R8, recordShift),
		asm.Mov.Reg(asm.R2, asm.R9), asm.Add.Reg(asm.R2, asm.R8),
	}
	if asleep {
		ins = append(ins, a.sleep()...)
	} else {
		ins = append(ins, a.copyField(atRuns, asm.DWord, "sched_info", "pcount")...)
	}
	ins = append(ins, a.copyField(atCPU, asm.DWord, "se", "sum_exec_runtime")...)
	ins = append(ins, a.copyField(atRunQueue, asm.DWord, "sched_info", "run_delay")...)
	ins = append(ins, a.copyField(atTID, asm.Word, "pid")...)
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

// identity gives the instructions that leave in R1 what no two threads of the same number have in common. It is the
// moment of birth, and how many programs its process has run since. The thread that survives execve(2) takes its first
// thread's number and moment of birth (fs/exec.c, de_thread), but has counted one program more. Who gets a number anew
// is born later. So the sum only rises. R3 is lost.
func (a *assembler) identity(task asm.Register) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, task, a.task(asm.DWord, "start_boottime"), asm.DWord),
		asm.LoadMem(asm.R3, task, a.task(asm.DWord, "self_exec_id"), asm.DWord),
		asm.Add.Reg(asm.R1, asm.R3),
	}
}

// sleep gives the instructions that write where the task in R6 sleeps into the record at R2, and its count of arrivals.
// They leave both registers as they are, and write nothing if the record is of the same sleep: it has the same thread
// and counts, and is not queued. Most threads sleep on, and their registers lie in memory that no cache has.
//
// Who is off its processor, and not queued, stays so until it arrives on one. So the count of arrivals, which is read
// before that, tells for how long the registers hold, as it does where they are read from /proc.
func (a *assembler) sleep() asm.Instructions {
	cpu, runs := a.task(asm.DWord, "se", "sum_exec_runtime"), a.task(asm.DWord, "sched_info", "pcount")
	queued := a.task(asm.Word, "on_rq")
	ins := asm.Instructions{
		asm.LoadMem(asm.R3, asm.R2, headBytes+atOff, asm.Word),
		asm.JEq.Imm(asm.R3, 0, "anew"),
		asm.LoadMem(asm.R3, asm.R2, headBytes+atTID, asm.Word),
		asm.LoadMem(asm.R4, asm.R6, a.task(asm.Word, "pid"), asm.Word),
		asm.JNE.Reg(asm.R3, asm.R4, "anew"),
		asm.LoadMem(asm.R3, asm.R2, headBytes+atRuns, asm.DWord),
		asm.LoadMem(asm.R4, asm.R6, runs, asm.DWord),
		asm.JNE.Reg(asm.R3, asm.R4, "anew"),
		asm.LoadMem(asm.R3, asm.R2, headBytes+atCPU, asm.DWord),
		asm.LoadMem(asm.R4, asm.R6, cpu, asm.DWord),
		asm.JNE.Reg(asm.R3, asm.R4, "anew"),
		asm.LoadMem(asm.R3, asm.R6, queued, asm.Word), // it may have been woken
		asm.JEq.Imm(asm.R3, 0, "clocks"),

		asm.Mov.Imm(asm.R3, 0).WithSymbol("anew"),
		asm.StoreMem(asm.R2, headBytes+atOff, asm.R3, asm.Word),
		asm.LoadMem(asm.R3, asm.R6, runs, asm.DWord), // before what tells that it is off
		asm.StoreMem(asm.R2, headBytes+atRuns, asm.R3, asm.DWord),
		asm.LoadMem(asm.R3, asm.R6, a.task(asm.Word, "on_cpu"), asm.Word),
		asm.JNE.Imm(asm.R3, 0, "clocks"),
		asm.LoadMem(asm.R3, asm.R6, queued, asm.Word),
		asm.JNE.Imm(asm.R3, 0, "clocks"),
	}
	ins = append(ins, a.copyField(atState, asm.Word, "__state")...)
	ins = append(ins, a.copyField(atProcessor, asm.Word, "thread_info", "cpu")...)
	ins = append(ins, a.copyField(atLastRun, asm.DWord, "se", "exec_start")...)
	ins = append(ins, asm.Mov.Reg(asm.R1, asm.R6), asm.FnTaskPtRegs.Call(),
		asm.Mov.Reg(asm.R2, asm.R9), asm.Add.Reg(asm.R2, asm.R8))
	for _, f := range [...]struct {
		name string
		to   int16
	}{
		{"orig_ax", atCall}, {"di", atArgs}, {"si", atArgs + 8}, {"dx", atArgs + 16}, {"r10", atArgs + 24},
		{"r8", atArgs + 32}, {"r9", atArgs + 40}, {"sp", atSP}, {"ip", atPC},
	} {
		ins = append(ins, asm.LoadMem(asm.R1, asm.R0, a.field("pt_regs", asm.DWord, f.name), asm.DWord),
			asm.StoreMem(asm.R2, headBytes+f.to, asm.R1, asm.DWord))
	}
	ins = append(ins, a.identity(asm.R6)...)
	return append(ins,
		asm.StoreMem(asm.R2, headBytes+atIdentity, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.R2, headBytes+atOff, asm.R1, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R1).WithSymbol("clocks"),
	)
}
