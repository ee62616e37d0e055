// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"os"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	"prywalk/internal/command/console"
	"prywalk/internal/host/launch"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
)

func (r *recording) launchAndRecord(args []string) error {
	if err := r.setOutput(os.Getpid()); err != nil {
		return errs.Internal(err)
	}
	r.signals.launches = true
	ctx, stop := r.signals.handle(&r.output.state)
	defer stop()
	if e, ok := r.samplerOpts.Engine.(target.EngineLauncher); ok {
		e.BeforeLaunch(launch.Parent())
	}
	l, err := launch.Start(args)
	var exec *launch.ExecError
	if errors.As(err, &exec) {
		return err
	}
	if err != nil {
		return errs.Internal(err)
	}
	r.pids = []int{l.PID}
	r.output.setPath(&r.options, l.PID)
	r.samplerOpts.Launched = procmem.BootTicks()
	launched.Store(l) // from now on it must stop with prywalk
	defer launched.Store(nil)
	if err := l.Release(); err != nil {
		return err
	}
	r.signals.command.Store(l)
	r.signals.sendPending()
	failure := r.recordLaunched(ctx, l)
	if r.hung {
		return errs.Internal(failure) // the command may be stopped until prywalk ends
	}
	done := "done"
	if failure != nil {
		done = "failed"
		console.Errorf("%v", failure)
	}
	if isAlive(l.PID) {
		console.Infof("recording %s; waiting for %s (process %d) to exit; Ctrl-C interrupts it, a second one leaves it",
			done, args[0], l.PID)
	}
	status := waitForCommand(l)
	if failure != nil {
		return &errs.Error{Code: errs.ExitInternal} // prywalk's own failure has precedence
	}
	return status
}

// recordLaunched writes the recording even without samples.
func (r *recording) recordLaunched(ctx context.Context, l *launch.Launched) error {
	procs, err := r.openWatched([]int{l.PID})
	if r.hung {
		return err
	}
	if err != nil {
		ended := errors.Is(err, errs.Exited) || errors.Is(err, errs.Zombie)
		if !ended {
			console.Errorf("%v", err)
		}
		r.prepare(nil)
		if err := r.writeWatched(); err != nil {
			return err
		}
		if ended {
			console.Infof("%s", runstats.TooShortLine(&r.stats, r.output.path))
		}
		return nil
	}
	r.prepare(procs)
	defer r.close()
	ctx, stop := contextUntilExit(ctx, l)
	failure := r.sample(ctx)
	stop()
	if r.hung {
		return r.writeHung(failure)
	}
	if err := errs.Join(failure, r.writeWatched()); err != nil {
		return err
	}
	if err := r.reportResult(); err != nil {
		console.Errorf("%v", err)
	}
	return nil
}

// contextUntilExit does not reap the command, and does not wait for its daemons.
func contextUntilExit(ctx context.Context, l *launch.Launched) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.Exited():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func waitForCommand(l *launch.Launched) error {
	st, err := l.Wait()
	if err != nil {
		return errs.Internal(err)
	}
	code := st.ExitStatus()
	if st.Signaled() {
		code = 128 + int(st.Signal())
	}
	if code != 0 {
		return &errs.Error{Code: code}
	}
	return nil
}

// isAlive is false of a zombie.
func isAlive(pid int) bool {
	var st procmem.Stat
	return procmem.ReadStat(pid, &st) == nil && !st.Ended()
}
