// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/observe/copying"
	"prywalk/internal/perfevents"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// # Threads that the kernel samples
//
// Such a thread is observed without stops, for sleeps, clocks and its end, unless its stack is too deep for samples
// ([copying.SampleDepth]).

const sampleRoom = 4 << 10 // bytes; a sample's buffer is a multiple

const maxKernel = 64 // kernel frames of a sample

// SetKernelSampleStack sets the bytes of stack in the kernel's samples of the thread; 0: none.
func (t *Thread) SetKernelSampleStack(bytes int) { t.kernelSampleStackBytes = bytes }

// IsKernelSampled reports whether the kernel's samples replace stops of the thread.
func (t *Thread) IsKernelSampled() bool {
	return t.kernelSampleStackBytes != 0 && !t.stackExceedsSamples()
}

// StopThough has the next observation stop the thread, if it runs, though the kernel samples it.
func (t *Thread) StopThough(stop bool) { t.stopThoughSampled = stop }

// StopsThoughSampled returns the argument of the last [Thread.StopThough].
func (t *Thread) StopsThoughSampled() bool { return t.stopThoughSampled }

// IsTooDeepForKernelSamples reports whether a thread is stopped though the kernel samples it.
func (t *Thread) IsTooDeepForKernelSamples() bool {
	return t.kernelSampleStackBytes != 0 && t.stackExceedsSamples()
}

func (t *Thread) stackExceedsSamples() bool {
	hints := t.hints()
	return hints.TooDeepForSamples || hints.Used > t.kernelSampleStackBytes
}

// FromKernelSample makes a raw sample, without clocks, from a usable kernel sample.
func (o *Observer) FromKernelSample(r *perfevents.Record) *RawSample {
	s := o.pool.Get()
	s.buffers.reserveStack((len(r.Stack) + sampleRoom - 1) / sampleRoom * sampleRoom) // few stacks are that deep
	n, asked := copy(s.buffers.stack, r.Stack), r.Asked
	s.FullSampleBytes = asked
	s.Regs = r.Regs
	s.At = r.Time
	s.How = ByKernelSample
	s.State = sample.Running
	s.setStack(r.Regs.SP(), n, asked)
	s.OnCPU, s.Basis = true, sample.Exact
	s.chain.follow(r)
	for i := range min(r.Kernel(), maxKernel) {
		s.Kernel = append(s.Kernel, r.KernelFrame(i))
	}
	return s
}

// SetNoUserSpace zeroes the registers, as of a kernel thread.
func (s *RawSample) SetNoUserSpace() { s.Regs = frames.Regs{Arch: process.HostArch()} }

// setRunningInKernel makes s a sample, without a stop, of a thread without user space that runs.
func (s *RawSample) setRunningInKernel(sched procmem.SchedStat) {
	s.SetNoUserSpace()
	s.setStack(0, 0, 0)
	s.Limits, s.KernelText = copying.Limits{}, s.KernelText[:0]
	s.Sched, s.At, s.How, s.State = sched, procmem.Now(), ByPassiveRead, sample.Running
	s.Call = procmem.SyscallInfo{Nr: -1}
	s.OnCPU, s.Basis = true, sample.Exact
}

// # Frame records beyond the copied stack
//
// A kernel sample has the return addresses along the frame pointers (arch/x86/events/core.c, perf_callchain_user), also
// on another stack, which it does not copy:
//
//	copied stack                 another stack
//	record ──► record ──► ┊      record ──► record ──► 0
//	return return ┊ return return the sample has the return addresses, not the records' places
//
// The chain is followed within the copy up to the first record outside. The places of the next records are known if the
// code determines their distances ([managed.Scheduler]).

// kernel.perf_event_max_stack is 127.
const maxRecords = 128

const recordBytes = 16 // address of the next record, return address

type frameChain struct {
	record  frames.Addr
	returns []uint64 // return addresses of that record and of those that follow
	words   []byte   // bytes of the added records
}

// Chain returns the first frame record outside of the copied stack, and the return addresses from there on; none if the
// chain stays in the copy or contradicts it.
func (s *RawSample) Chain() (record frames.Addr, returns []uint64) {
	return s.chain.record, s.chain.returns
}

// EndsAtRecord reports whether a walk ended at the first record of [RawSample.Chain].
func (s *RawSample) EndsAtRecord(w *frames.Walker) bool {
	if s.How != ByKernelSample || len(s.chain.returns) == 0 {
		return false
	}
	stop := w.StopReason()
	if stop != frames.StopBadMemory && stop != frames.StopStackCut {
		return false
	}
	lacked := w.UnreadAddr()
	return lacked == s.chain.record || lacked == s.chain.record+8
}

// AddRecords adds the records of [RawSample.Chain] to the copy. next has the known addresses of those after the first;
// 0 is the end.
func (s *RawSample) AddRecords(next []frames.Addr) {
	chain := &s.chain
	record := chain.record
	n := min(len(next), len(chain.returns))
	if chain.words == nil {
		chain.words = make([]byte, recordBytes*maxRecords)
	}
	chain.words = chain.words[:0]
	for i, ret := range chain.returns[:min(n+1, len(chain.returns))] { // at most maxRecords
		from := len(chain.words)
		if i < n {
			chain.words = binary.LittleEndian.AppendUint64(chain.words, next[i])
		}
		chain.words = binary.LittleEndian.AppendUint64(chain.words, ret)
		first := record
		if i == n { // the next record is unknown
			first += 8
		}
		s.Mem.Others = append(s.Mem.Others, frames.Region{Addr: first, Bytes: chain.words[from:]})
		if i == n || next[i] == 0 {
			break
		}
		record = next[i]
	}
	chain.returns = chain.returns[:0]
}

func (f *frameChain) follow(r *perfevents.Record) {
	f.returns = f.returns[:0]
	record, ok := r.Regs.Get(frames.X86RBP)
	n := len(r.Chain) / 8
	if !ok || r.Regs.Arch != frames.X86_64 || n < 2 || r.ChainAt(0) != r.Regs.PC {
		return
	}
	stack := frames.Snapshot{Stack: frames.Region{Addr: r.Regs.SP(), Bytes: r.Stack}}
	for i := 1; i < n; i++ {
		next, ok := stack.Word(record)
		ret, ok2 := stack.Word(record + 8)
		switch {
		case ok && ok2 && ret != r.ChainAt(i):
			return
		case ok && ok2:
			record = next
			continue
		}
		f.record = record
		for ; i < n && len(f.returns) < maxRecords; i++ {
			f.returns = append(f.returns, r.ChainAt(i))
		}
	}
}
