// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/internal/host/procmem"
)

const noSamples = 4 // prywalk's exit code: all time is without a sample

const none = "none"

// A tool without arguments is none.
type tool struct {
	name    string
	args    []string // PID and length follow by args
	only    string   // program; empty: all
	prywalk bool
}

func (t *tool) takes(program string) bool { return t.only == "" || t.only == program }

// addTools leaves out peers that are not installed. py-spy is copied, as another user may not reach it.
func (b *bench) addTools(builds, engines []string) error {
	b.tools = []tool{{name: none}, {name: none}}
	for _, build := range builds {
		for _, engine := range engines {
			b.tools = append(b.tools, tool{name: filepath.Base(build) + " --engine " + engine, prywalk: true,
				args: []string{build, "record", "--engine", engine, "-q", "-o", "x.pb.gz", "--stats", "stats.json"}})
		}
	}
	if _, err := exec.LookPath("perf"); err == nil {
		b.tools = append(b.tools, tool{name: "perf record -g",
			args: []string{"perf", "record", "-q", "-e", "cpu-clock:u", "-F", "99", "-g", "-o", "perf.data"}})
	}
	pyspy, err := exec.LookPath("py-spy")
	if err != nil {
		return nil
	}
	b.tools = append(b.tools, tool{name: "py-spy record", only: "Python",
		args: []string{"./py-spy", "record", "-r", "99", "-f", "raw", "-o", "spy.txt"}})
	return copyProgram(filepath.Join(b.dir, "programs", "py-spy"), pyspy)
}

func copyProgram(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// command has a tool's own way to say how long it samples.
func (t *tool) command(ctx context.Context, b *bench, pid int) *exec.Cmd {
	args := slices.Concat(t.args[1:], []string{"-p", strconv.Itoa(pid)})
	seconds := strconv.FormatFloat(b.length.Seconds(), 'f', -1, 64)
	switch {
	case t.prywalk:
		args = append(args, "-d", b.length.String())
	case t.only != "": // py-spy takes whole seconds
		args = append(args, "-d", strconv.Itoa(max(1, int(math.Round(b.length.Seconds())))))
	default:
		args = append(args, "--", "sleep", seconds)
	}
	return b.command(ctx, t.args[0], args...)
}

// least is a divisor in place of zero: of a program that did not run.
const least = 1e-30

// window measures the program while the tool runs, its start and end included.
func (b *bench) window(ctx context.Context, s *session, t tool) (o outcome, err error) {
	first, cpu, err := s.now()
	if err != nil {
		return o, err
	}
	start := time.Now()
	if len(t.args) == 0 {
		time.Sleep(b.length)
	} else if err := b.run(ctx, s, t, &o); err != nil {
		return o, err
	}
	o.Own /= time.Since(start).Seconds()
	last, cpuAfter, err := s.now()
	if err != nil {
		return o, err
	}
	o.At, o.LoadAverage, o.Host = time.Now(), machine.Load(), b.host
	o.Rate = (last.work - first.work) / max(last.at-first.at, least)
	o.PerCPU = (last.work - first.work) / max(float64(cpuAfter-cpu), 1)
	if last.self { // its computing threads
		o.PerCPU = (last.work - first.work) / max(last.cpu, least)
		o.Stops, o.Lost, o.Longest = true, last.lost/max(last.cpu, least), last.longest/1e6
	}
	return o, nil
}

func (s *session) now() (report, uint64, error) {
	r, err := s.report()
	if err != nil {
		return r, 0, err
	}
	cpu, err := procmem.ProcessCPU(s.cmd.Process.Pid)
	return r, cpu, err
}

func (b *bench) run(ctx context.Context, s *session, t tool, o *outcome) error {
	cmd := t.command(ctx, b, s.cmd.Process.Pid)
	if out, err := cmd.CombinedOutput(); err != nil && !(t.prywalk && cmd.ProcessState.ExitCode() == noSamples) {
		return fmt.Errorf("%w: %s", err, out)
	}
	o.Own = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if !t.prywalk {
		return nil
	}
	file, err := os.Open(filepath.Join(b.dir, "programs", "stats.json"))
	if err != nil {
		return err
	}
	defer file.Close()
	return o.read(file)
}

// read takes prywalk's own count, in which a kernel sample is time in stops, too.
func (o *outcome) read(file io.Reader) error {
	var s struct {
		CPUTarget  float64 `json:"cpu_target_s"`
		Unobserved float64 `json:"cpu_unobserved_s"`
		Duration   float64 `json:"duration_s"`
		Lost       float64 `json:"lost_s"`
		Lengths    struct {
			Max float64 `json:"max"`
		} `json:"stop_us"`
		Stops []struct {
			N float64 `json:"n"`
		} `json:"stops"`
	}
	if err := json.NewDecoder(file).Decode(&s); err != nil {
		return err
	}
	target := max(s.CPUTarget, least)
	o.Sampled, o.Unobserved = true, s.Unobserved/target
	o.Stops, o.Lost, o.Longest = true, s.Lost/target, s.Lengths.Max/1e3
	for _, class := range s.Stops {
		o.StopRate += class.N / s.Duration
	}
	return nil
}
