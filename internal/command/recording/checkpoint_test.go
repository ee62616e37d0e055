// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/account/runstats"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"

	"prywalk/internal/watch/target"
)

// atOnce is a checkpointing without a sampler.
type atOnce struct{}

func (atOnce) Yield() {}

func (atOnce) InBackground(work func(here func(func()))) { work(func(f func()) { f() }) }

const lateProgram = `
import sys, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(1000):
            pass
def early():
    burn(0.2)
def late():
    burn(0.5)
early()
print("ready", flush=True)
sys.stdin.readline()
late()
`

// lateTarget starts lateProgram. finish lets it go on, and returns when it has ended.
func lateTarget(t *testing.T) (pid int, finish func()) {
	t.Helper()
	cmd := exec.Command(testtargets.NeedProgram(t, "python3"), "-c", lateProgram)
	in, says := testtargets.Talk(t, cmd)
	if _, err := says.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	end, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	testtargets.Need(t, err == nil, "pidfd_open", "Linux 5.3 or later")
	t.Cleanup(func() { _ = unix.Close(end) })
	return cmd.Process.Pid, func() {
		fmt.Fprintln(in, "go on")
		for err := unix.EINTR; err == unix.EINTR; {
			_, failed := unix.Poll([]unix.PollFd{{Fd: int32(end), Events: unix.POLLIN}}, 60_000)
			err, _ = failed.(unix.Errno)
		}
	}
}

func lateRecording(t *testing.T, pid int) *recording {
	return newRecording(Options{PIDs: []int{pid}, Output: filepath.Join(t.TempDir(), "r.pb.gz"), Overwrite: true,
		Sampler: target.SamplingOptions{Freq: 99, MaxDepth: 1024}})
}

func cpuOfLate(t *testing.T, r *recording) (cpu time.Duration) {
	t.Helper()
	p, err := profile.ReadFile(r.output.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(l *pprof.Location) bool {
			return len(l.Line) > 0 && l.Line[0].Function.Name == "late"
		}) {
			cpu += time.Duration(s.Value[3])
		}
	}
	return cpu
}

// The names of Python's functions are read from its memory during the walk, and libpython's take seconds to read.
func TestNoSampleWaitsForTheNamesOfACheckpoint(t *testing.T) {
	pid, finish := lateTarget(t)
	r := lateRecording(t, pid)
	var once sync.Once
	held := false
	err := r.run(func(ctx context.Context, procs []*loadedcode.Process) error {
		r.fileNames.now = func() time.Time { // each name of a file's
			once.Do(func() {
				held = true
				finish()
			})
			return time.Now()
		}
		go func() {
			testtargets.Comes(func() bool { return r.sampler.Progress().Stacks > 0 })
			r.sampler.CheckpointNow()
		}()
		return r.sampleAndWrite(ctx, procs)
	})
	if err != nil || !held {
		t.Fatalf("%v; the checkpoint was held: %v", err, held)
	}
	if cpu := cpuOfLate(t, r); cpu < 250*time.Millisecond {
		t.Errorf("late has %v of 500ms", cpu)
	}
}

func TestStacksThatLackManagedFramesAsTheirProcessHasEndedAreCounted(t *testing.T) {
	pid, finish := lateTarget(t)
	r := lateRecording(t, pid)
	walks := int64(0)
	r.samplerOpts.Walked = func(*target.Process, *observe.RawSample, sample.StackID, *frames.Walker) {
		if walks++; walks == 1 {
			finish()
		}
	}
	if err := r.run(r.sampleAndWrite); err != nil {
		t.Fatal(err)
	}
	if n := r.stats.WalkedAfterEnd; n == 0 || n != walks-1 || cpuOfLate(t, r) != 0 {
		t.Errorf("%d of %d stacks are counted, and late has %v", n, walks-1, cpuOfLate(t, r))
	}
	want := fmt.Sprintf("note: %d stacks without functions of the program's language: the process had ended, or called "+
		"exec, before they were read; end the recording before the process (-d, Ctrl-C)", r.stats.WalkedAfterEnd)
	if notes := runstats.Losses(&r.stats); !slices.Contains(notes, want) {
		t.Errorf("%q", notes)
	}
}
