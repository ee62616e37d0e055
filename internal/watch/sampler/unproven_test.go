// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"runtime"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

func TestSleeperWithAnUnprovenRegisterIsStoppedOnceInARecording(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("what a passive read lacks is another thing there: integration/arm64")
	}
	exe, err := testtargets.Compile("sleepers.c", "-O0")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call, shape string
		opts        target.SamplingOptions
		stopped     int64
	}{
		{"nanosleep", "recursive", target.SamplingOptions{}, 1},
		{"nanosleep", "recursive", target.SamplingOptions{ReadOnly: true}, 0},
		{"nanosleep", "plain", target.SamplingOptions{}, 0}, // the stack itself proves it
	} {
		cmd := exec.Command(exe, c.call, c.shape)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		allAsleep(t, cmd.Process.Pid)
		r := record(t, c.opts, 0, func(s *Sampler) {
			await(t, "the sleeper is observed at ten ticks", func() bool {
				p := s.Progress()
				return p.Tracer.Ticks >= 10 && p.Tracer.Observations >= 3 // then it is backed off
			})
		}, cmd.Process.Pid)
		if r.Stops != c.stopped || r.Unchanged == 0 {
			t.Errorf("%s, %s, read-only %v: %+v", c.call, c.shape, c.opts.ReadOnly, r.Stats)
		}
	}
}
