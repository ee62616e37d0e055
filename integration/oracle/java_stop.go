// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func ranFor(pid, tid int) (ns uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(text), &ns)
	return ns
}

func (o *javaRun) wait() (unix.Signal, error) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(o.tid, &ws, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("wait: %w", err)
		}
		break
	}
	if ws.Exited() || ws.Signaled() {
		o.ended = true
		return 0, nil
	}
	o.asked = int(ws)>>16 == unix.PTRACE_EVENT_STOP
	return ws.StopSignal(), nil
}

func (o *javaRun) signal(sig unix.Signal) error {
	o.tally.lost(o, sig.String())
	if err := unix.PtraceCont(o.tid, int(sig)); err != nil {
		return fmt.Errorf("deliver signal: %w", err)
	}
	if err := unix.PtraceInterrupt(o.tid); err != nil {
		return fmt.Errorf("interrupt: %w", err)
	}
	for {
		sig, err := o.wait()
		if err != nil || o.ended {
			return err
		}
		if sig == unix.SIGTRAP {
			return errLost
		}
		if err := unix.PtraceCont(o.tid, int(sig)); err != nil {
			return fmt.Errorf("deliver signal: %w", err)
		}
	}
}

// Debug registers in struct user (arch/x86/include/asm/user_64.h, u_debugreg), and the bit that makes the first an
// instruction breakpoint (Intel SDM volume 3, 18.2.4).
const (
	debugRegs   = 848
	debugEnable = 1
)

func (o *javaRun) debugReg(i int, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	if _, err := unix.PtracePokeUser(o.tid, uintptr(debugRegs+8*i), b[:]); err != nil {
		return fmt.Errorf("debug register: %w", err)
	}
	return nil
}

// longCall bounds a call of code that is not generated: it may not return where it was called from.
const longCall = 500 * time.Millisecond

func (o *javaRun) runTo(back javaCall) error {
	if err := o.debugReg(0, back.pc); err != nil {
		return err
	}
	if err := o.debugReg(7, debugEnable); err != nil {
		return err
	}
	err := o.untilBack(back)
	if !o.ended {
		if derr := o.debugReg(7, 0); err == nil {
			err = derr
		}
	}
	return err
}

func (o *javaRun) untilBack(back javaCall) error {
	deliver, interrupted := 0, false
	end := time.Now().Add(longCall)
	for {
		if err := unix.PtraceCont(o.tid, deliver); err != nil {
			return fmt.Errorf("continue: %w", err)
		}
		var ws unix.WaitStatus
		for tries := 0; ; tries++ {
			got, err := unix.Wait4(o.tid, &ws, unix.WALL|unix.WNOHANG, nil)
			if err != nil && err != unix.EINTR {
				return fmt.Errorf("wait: %w", err)
			}
			if got == o.tid {
				break
			}
			if tries > 1000 {
				time.Sleep(50 * time.Microsecond) // until the state is asked for again
			}
			if !interrupted && time.Now().After(end) {
				interrupted = true
				if err := unix.PtraceInterrupt(o.tid); err != nil {
					return fmt.Errorf("interrupt: %w", err)
				}
			}
		}
		if ws.Exited() || ws.Signaled() {
			o.ended = true
			return nil
		}
		if _, err := readRegs(o.tid, &o.regs); err != nil {
			return err
		}
		deliver = 0
		switch {
		case ws.StopSignal() != unix.SIGTRAP:
			deliver = int(ws.StopSignal())
		case o.regs.PC == back.pc && o.regs.SP() == back.slot+8:
			return nil
		case interrupted:
			o.tally.lost(o, fmt.Sprintf("a call that does not return: %s", o.kind(back.pc)))
			return errLost
		case o.regs.SP() > back.slot+8:
			o.tally.lost(o, "a call that was left")
			return errLost
		}
	}
}
