// SPDX-License-Identifier: Apache-2.0

package integration

import (
	enc "encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/statistics"
)

// A recording's shares of functions are those of the program's own account between two stops. The samples are
// independent: the program draws some twenty times between two ticks what it does next. Their weights do not
// depend on what is drawn, so that Hoeffding's bound holds for their effective number (Kish: the square of the sum
// by the sum of squares).
func TestStatisticalSharesAreTheProgramsOwnAccount(t *testing.T) {
	engines := []string{"ptrace", "perf"}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			if engine == "perf" {
				needsPerf(t)
			}
			account := startDrawn(t)
			stopAll(t, account.pid)
			before := account.read(t)
			r := startRecording(t, nil, "--engine", engine, "-F", "499", "-p", strconv.Itoa(account.pid))
			r.until("the stopped thread has samples", func(p *profile.Profile) bool { return len(p.Sample) > 0 })
			kill(t, account.pid, syscall.SIGCONT)
			r.until("2,000 effective samples", func(p *profile.Profile) bool {
				_, _, n := drawnShares(p)
				return n >= 2000
			})
			stopAll(t, account.pid)
			after := account.read(t)
			cpu, all, n := drawnShares(r.finish().Profile)
			own := float64(0)
			for i := range after {
				after[i] -= before[i]
				own += float64(after[i])
			}
			const comparisons = 6 // of three functions with two engines
			distance := statistics.HoeffdingDistance(int(n), statistics.ErrorRate/comparisons)
			distance += float64(2*time.Millisecond) / own // what runs at each stop is not in the account yet
			for i, name := range drawn {
				got, want := float64(cpu[name])/float64(all), float64(after[i])/own
				t.Logf("%s: %.3f of the time in %.0f samples, want %.3f ± %.3f", name, got, n, want, distance)
				if math.Abs(got-want) > distance {
					t.Errorf("%s has %.3f of the time in %.0f samples, want %.3f ± %.3f", name, got, n, want, distance)
				}
			}
		})
	}
}

// drawn are the functions of src/drawn.c, in the order of its account.
var drawn = [3]string{"often", "some", "rarely"}

type drawnProgram struct {
	pid  int
	file string
}

func startDrawn(t *testing.T) drawnProgram {
	t.Helper()
	exe, err := testtargets.Compile("drawn.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch(t, nil), "account")
	cmd := exec.Command(exe, file)
	testtargets.Ready(t, cmd)
	return drawnProgram{cmd.Process.Pid, file}
}

func (d drawnProgram) read(t *testing.T) (ns [3]int64) {
	t.Helper()
	text, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ns {
		ns[i] = int64(enc.NativeEndian.Uint64(text[8*i:]))
	}
	return ns
}

func drawnShares(p *profile.Profile) (cpu map[string]int64, all int64, effective float64) {
	cpu = map[string]int64{}
	squares := 0.0
	for _, s := range p.Sample {
		for _, name := range drawn {
			if v := s.Value[cpuColumn]; v > 0 && testtargets.HasChain(stackOf(s), []string{name}) {
				cpu[name] += v
				all += v
				squares += float64(v) * float64(v)
			}
		}
	}
	return cpu, all, float64(all) * float64(all) / max(squares, 1)
}
