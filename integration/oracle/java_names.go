// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/managed"
)

// JavaSampler repeatedly stops the busiest Java thread of a program, and names its frames.
type JavaSampler struct {
	Proc   *loadedcode.Process
	TID    int
	cmd    *exec.Cmd
	stderr *testtargets.Errors
	names  managed.FrameSource
	known  map[managed.Ref][]managed.Frame
	truths map[managed.Ref]managed.Certainty
	w      frames.Walker
	regs   frames.Regs
	stack  [256 << 10]byte
	snap   frames.Snapshot
	refs   []managed.Ref
	// Chain has the named frames of the last sample, innermost first.
	Chain []managed.Frame
	// Unnamed and Freed count the frames of generated code without a name, and with one that is gone. Native is the
	// number of frames in the last sample.
	Unnamed, Freed, Native int
	// Late is the thread's run time before names are made; 0: they are made in the stop.
	Late    time.Duration
	Stopped func() // called in the stop; may be nil
	PCs     []frames.Frame
	Stop    frames.StopReason
	at      int64
	since   time.Time
}

// StartJava starts a program. The goroutine must keep its thread until Close.
func StartJava(argv []string, warm time.Duration) (*JavaSampler, error) {
	runtime.LockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	errorOutput, err := testtargets.KeepErrors(cmd)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	s := &JavaSampler{
		cmd: cmd, stderr: errorOutput, known: map[managed.Ref][]managed.Frame{}, truths: map[managed.Ref]managed.Certainty{},
	}
	time.Sleep(warm) // the JVM compiles what runs: the code is the subject
	if s.Proc, err = loadedcode.Open(cmd.Process.Pid); err != nil {
		err = fmt.Errorf("open: %w: %v", err, errorOutput)
		s.Close()
		return nil, err
	}
	for try := 0; ; try++ {
		if s.TID, err = busiest(s.Proc, argv[len(argv)-1] == virtual); err == nil {
			break
		}
		if try == maxStarts {
			err = fmt.Errorf("%w: %v", err, errorOutput)
			s.Close()
			return nil, err
		}
		time.Sleep(warm) // no thread has run yet
	}
	if err := unix.PtraceSeize(s.TID); err != nil {
		s.Close()
		return nil, fmt.Errorf("seize: %w", err)
	}
	return s, nil
}

const maxStarts = 30

// Until samples until a function with this prefix is on the stack.
func (s *JavaSampler) Until(function string) error {
	for range 1000 * maxStarts {
		if err := s.Sample(); err != nil {
			return err
		}
		for i := range s.Chain {
			if strings.HasPrefix(s.Chain[i].Function, function) {
				return nil
			}
		}
		time.Sleep(time.Millisecond) // the subject: another moment of the program
	}
	return fmt.Errorf("%s was never on the stack", function)
}

const virtual = "virtual"

// busiest returns the Java thread with the most CPU time: a carrier, or one with a launcher's name, which JDK 28
// shortens in the middle.
func busiest(p *loadedcode.Process, carrier bool) (int, error) {
	tids, err := p.Threads(nil)
	if err != nil {
		return 0, fmt.Errorf("threads: %w", err)
	}
	best, most := 0, uint64(0)
	for _, tid := range tids {
		name := p.ThreadName(tid)
		if carrier != strings.HasPrefix(name, "ForkJoi") || !carrier && name != "java" && name != "main" {
			continue
		}
		if used := ranFor(p.PID, tid); used >= most {
			best, most = tid, used
		}
	}
	if best == 0 {
		return 0, fmt.Errorf("process %d has no thread that runs Java", p.PID)
	}
	return best, nil
}

// Close ends the program.
func (s *JavaSampler) Close() {
	_ = s.cmd.Process.Kill()
	if s.TID != 0 {
		_, _ = unix.Wait4(s.TID, nil, unix.WALL, nil)
	}
	_ = s.cmd.Wait()
	s.stderr.Close()
	if s.Proc != nil {
		_ = s.Proc.Close()
	}
	runtime.UnlockOSThread()
}

// Sample stops the thread once. It fails if the program has ended.
func (s *JavaSampler) Sample() error {
	if err := s.stop(); err != nil {
		return err
	}
	if err := s.observe(); err != nil {
		return err
	}
	if s.Stopped != nil {
		s.Stopped()
	}
	if s.Late == 0 {
		s.name()
	}
	if err := unix.PtraceCont(s.TID, 0); err != nil {
		return fmt.Errorf("continue: %w", err)
	}
	if s.Late != 0 {
		time.Sleep(s.Late) // the subject: names are read so late
		s.name()
	}
	return nil
}

// Steps executes n instructions of the stopped thread, and calls each before every one. A signal ends that.
func (s *JavaSampler) Steps(n int, each func()) error {
	if err := s.stop(); err != nil {
		return err
	}
	for range n {
		if err := s.observe(); err != nil {
			return err
		}
		s.name()
		each()
		if err := unix.PtraceSingleStep(s.TID); err != nil {
			return fmt.Errorf("step: %w", err)
		}
		sig, err := s.wait()
		if err != nil {
			return err
		}
		if sig != unix.SIGTRAP {
			if err := unix.PtraceCont(s.TID, int(sig)); err != nil {
				return fmt.Errorf("continue: %w", err)
			}
			return nil
		}
	}
	if err := unix.PtraceCont(s.TID, 0); err != nil {
		return fmt.Errorf("continue: %w", err)
	}
	return nil
}

func (s *JavaSampler) stop() error {
	if err := unix.PtraceInterrupt(s.TID); err != nil {
		return fmt.Errorf("interrupt: %w", err)
	}
	for {
		sig, err := s.wait()
		if err != nil || sig == unix.SIGTRAP {
			return err
		}
		if err := unix.PtraceCont(s.TID, int(sig)); err != nil {
			return fmt.Errorf("continue: %w", err)
		}
	}
}

func (s *JavaSampler) wait() (unix.Signal, error) {
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(s.TID, &ws, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || ws.Exited() || ws.Signaled() {
			return 0, fmt.Errorf("the program ended (status %#x, %v): %v", uint32(ws), err, s.stderr)
		}
		return ws.StopSignal(), nil
	}
}

func (s *JavaSampler) observe() error {
	s.at = procmem.Now()
	if time.Since(s.since) > time.Second {
		s.since = time.Now()
		if _, err := s.Proc.Refresh(); err != nil {
			return fmt.Errorf("refresh: %w", err)
		}
	}
	return s.takeSample()
}

func (s *JavaSampler) takeSample() error {
	if _, err := readRegs(s.TID, &s.regs); err != nil {
		return err
	}
	from := s.regs.SP() - 128
	top := s.Proc.StackEnd(s.regs.SP())
	local := []unix.Iovec{{Base: &s.stack[0]}}
	n := min(uint64(len(s.stack)), top-from)
	local[0].SetLen(int(n))
	got, err := unix.ProcessVMReadv(s.TID, local, []unix.RemoteIovec{{Base: uintptr(from), Len: int(n)}}, 0)
	if err != nil {
		got = 0
	}
	s.snap = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.stack[:got]}, StackEnd: top}
	for range 2 {
		s.PCs = s.PCs[:0]
		s.w.MaxDepth = -1
		for s.w.Init(s.Proc.Space(), &s.regs, &s.snap); s.w.Next(); {
			s.PCs = append(s.PCs, s.w.Frame())
		}
		if s.Stop = s.w.StopReason(); s.Stop == frames.StopRoot {
			break
		}
		if _, err := s.Proc.Refresh(); err != nil {
			return fmt.Errorf("refresh: %w", err)
		}
	}
	return nil
}

func (s *JavaSampler) blob(f *frames.Frame) string {
	if m := f.Module; m != nil {
		if d, ok := m.Owner.(interface{ Blob(pc uint64) string }); ok {
			return d.Blob(f.PC)
		}
	}
	return "other code"
}

// Read implements [managed.Live].
func (s *JavaSampler) Read(addr uint64, b []byte) int { return s.Proc.Read(addr, b) }

// Unchanged implements [managed.Live].
func (s *JavaSampler) Unchanged() bool { return s.Late == 0 }

func (s *JavaSampler) name() {
	s.Chain, s.Unnamed, s.Freed, s.Native = s.Chain[:0], 0, 0, len(s.PCs)
	if s.names == nil {
		for i := range s.PCs {
			if m := s.PCs[i].Module; m != nil {
				if d, ok := m.Owner.(managed.FrameSource); ok {
					s.names = d
				}
			}
		}
		if s.names == nil {
			return
		}
	}
	s.names.Begin(&managed.Sample{InnerTID: s.TID, Regs: &s.regs, Mem: &s.snap, At: s.at, Live: s})
	for i := range s.PCs {
		cfa := managed.Outermost
		if i+1 < len(s.PCs) {
			cfa = s.PCs[i+1].SP
		}
		s.refs, _ = s.names.ManagedFrames(&s.PCs[i], cfa, s.refs[:0])
		if m := s.PCs[i].Module; len(s.refs) == 0 && m != nil && m.Generated {
			s.Unnamed++
		}
		for _, r := range s.refs {
			fs, ok := s.known[r]
			if !ok {
				fs, s.truths[r] = s.names.Symbolize(r, s, nil)
				if s.truths[r] != managed.Freed {
					s.known[r] = fs
				}
			}
			if s.truths[r] == managed.Freed {
				s.Freed++
			}
			s.Chain = append(s.Chain, fs...)
		}
	}
	s.names.End()
}
