// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/account"
	"prywalk/internal/console"
	"prywalk/internal/observe"
	"prywalk/internal/outfile"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sampler"
)

// checkpoint writes the recording so far. A failure becomes saveErr.
func (r *recording) checkpoint(between func()) {
	if r.path == "" {
		r.names.DropUnused()
		return
	}
	if !profile.Replaceable(r.path) {
		return
	}
	r.builder.SetBetween(between)
	r.names.SetBetween(between)
	defer r.builder.SetBetween(nil)
	defer r.names.SetBetween(nil)
	if r.rotate() {
		r.names.DropUnused()
		return
	}
	r.builder.SetComments("checkpoint: the recording was not finished")
	if err := r.save(false); err != nil && r.saveErr == nil {
		r.saveErr = err
		console.Fail("%v", err)
	}
	r.names.DropUnused()
}

// save writes the recording so far, and keeps an earlier run's file.
func (r *recording) save(whole bool) error {
	if r.keepOld && profile.Replaceable(r.path) {
		if err := profile.KeepOld(r.path); err != nil {
			console.Fail("%v", err)
		}
	}
	r.keepOld = false
	if err := r.builder.WriteFile(r.path, r.names); err != nil {
		return err
	}
	r.disk.noteWrite(whole)
	return nil
}

func (r *recording) write() error {
	r.samplingOver.Store(true)
	r.builder.SetComments(slices.Concat([]string{account.Full(&r.stats)}, r.deadlocks, r.goroutines)...)
	r.names.Refresh()
	release, err := console.AwaitReader(r.path, r.skipNames)
	if err != nil {
		return err
	}
	err = r.saveWithNames()
	release()
	if err != nil {
		return err
	}
	if r.options.Stats != "" {
		release, err := console.AwaitReader(r.options.Stats, r.skipNames)
		if err != nil {
			return err
		}
		defer release()
		r.stats.Syscalls = procmem.Calls()
		err = profile.WriteFileAtomic(r.options.Stats, func(w io.Writer) error { return account.WriteJSON(w, &r.stats) })
		if err != nil {
			return fmt.Errorf("--stats: %w; %s", err, &r.disk)
		}
	}
	return nil
}

// saveWithNames writes the whole recording, with progress if that takes long. A signal skips the missing names.
func (r *recording) saveWithNames() error {
	r.names.begin(r.skipNames)
	whole := r.builder.Sizes().Locations
	key := "Ctrl-C skips the rest"
	if r.endRequested.Load() {
		key = "Ctrl-C aborts"
	}
	p := console.StartSlow(false, func() string {
		return fmt.Sprintf("looking up symbols: %d of up to %d addresses (%s)", r.names.lookedUp.Load(), whole, key)
	})
	err := r.save(true)
	p.Stop()
	if n := r.names.skipped; n > 0 && err == nil {
		console.Say("%d addresses without a name: symbol lookup was skipped", n)
	}
	return err
}

// writeWatched is write, but returns if a read of a file with names hangs.
func (r *recording) writeWatched() error {
	var err error
	if hung := observe.Watched(func() { err = r.write() }); hung != nil {
		r.hung = true
		return fmt.Errorf("cannot write %s: %w; the last checkpoint is kept", r.path, hung)
	}
	return err
}

// hungWrite limits the write after a read has hung: the read may hold a lock that the write needs.
const hungWrite = 10 * time.Second

// writeHung writes the recording after a read has hung, and returns the failure in one line.
func (r *recording) writeHung(failure error) error {
	if errors.Is(failure, sampler.ErrNotBooked) {
		return failure
	}
	done := make(chan error, 1)
	go func() { done <- r.write() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%w; %w", failure, err)
		}
		return fmt.Errorf("%w; the recording ended early: %s", failure, account.Closing(&r.stats, r.path))
	case <-time.After(hungWrite):
		return fmt.Errorf("%w; %w", failure, sampler.ErrNotBooked)
	}
}

func (r *recording) setOutput(pid int) error {
	r.setPath(pid)
	if r.path == "-" {
		return nil
	}
	for _, file := range []struct{ path, flag string }{{r.path, "-o"}, {r.options.Stats, "--stats"}} {
		if file.path == "" {
			continue
		}
		if err := outfile.Check(file.path); err != nil {
			return fmt.Errorf("%w; give another place with %s", err, file.flag)
		}
	}
	return nil
}

func (r *recording) setPath(pid int) {
	r.path = expand(r.options.Output, pid)
	switch {
	case console.IsStdout(r.path):
		r.path = "-"
	case r.options.Rotate > 0 && r.path != "":
		r.rotation = newRotation(expandPID(r.options.Output, pid), r.options.Rotate, r.options.Keep)
		r.path = r.rotation.path(time.Now())
	}
	r.disk.setPath(r.path)
}

// expandPID replaces %p only.
func expandPID(path string, pid int) string {
	return strings.NewReplacer("%p", strconv.Itoa(pid), "%t", "%t", "%%", "%").Replace(path)
}

// expand replaces %p by the pid, and %t by the time.
func expand(path string, pid int) string {
	return strings.NewReplacer("%p", strconv.Itoa(pid), "%t", time.Now().Format("20060102-150405"), "%%",
		"%").Replace(path)
}
