// SPDX-License-Identifier: Apache-2.0

// Engines records a running process alternately with prywalk's two engines and with perf record (all processors, as an
// inherited event would miss short-lived threads). It prints the functions' shares of the CPU time, by the innermost
// function outside of the kernel. It needs root or CAP_PERFMON.
//
//	go -C benchmarks run ./engines -prywalk bin/prywalk -p PID -F 499 -d 5 -n 3
//	go -C benchmarks run ./engines -prywalk bin/prywalk -known locks -threads 8
//
// With -known the program measures its functions itself.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/perfscript"
)

type job struct {
	prywalk string
	pid     int
	freq    int
	seconds int
	dir     string
	rows    int
	beside  bool
	known   *known
	program string
}

type run struct {
	shares  map[string]float64
	named   float64
	samples float64
	extra   string
}

var tools = []string{"perf", "ptrace", "perf record"}

func besideOf(tool string) string { return "perf record beside " + tool }

func main() {
	j := &job{}
	n := 0
	flag.StringVar(&j.prywalk, "prywalk", "bin/prywalk", "the program")
	flag.IntVar(&j.pid, "p", 0, "the process")
	flag.IntVar(&j.freq, "F", 499, "samples a second")
	flag.IntVar(&j.seconds, "d", 5, "seconds of a recording")
	flag.IntVar(&n, "n", 3, "recordings of each")
	flag.IntVar(&j.rows, "rows", 10, "functions")
	flag.BoolVar(&j.beside, "beside", false, "have perf record look during prywalk's recordings, too: does the program "+
		"itself do something else then?")
	mode := flag.String("known", "", "locks, pairs or brief: start a program that knows its shares, instead of -p")
	threads := flag.Int("threads", 8, "its threads")
	program := flag.String("program", "", "print rows under this name, with each engine's difference from perf record")
	only := flag.String("tools", "", "these tools only, of perf,ptrace,perf record")
	flag.Parse()
	_ = command.AtRoot()
	if *only != "" {
		tools = strings.Split(*only, ",")
	}
	if *mode != "" {
		var with []string
		for _, tool := range tools {
			with = append(with, tool, truthColumn(tool))
		}
		tools = with
		k, err := startKnown(*mode, *threads)
		if err != nil {
			fmt.Fprintln(os.Stderr, "engines:", err)
			os.Exit(1)
		}
		j.known, j.pid = k, k.cmd.Process.Pid
	}
	if j.beside {
		tools = []string{"perf", besideOf("perf"), "ptrace", besideOf("ptrace"), "perf record"}
	}
	j.program = *program
	err := j.main(n)
	if j.known != nil {
		j.known.stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

func (j *job) main(n int) error {
	dir, err := os.MkdirTemp("", "prywalk-engines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	j.dir = dir
	runs := map[string][]run{}
	for range n {
		for _, tool := range tools {
			if strings.HasPrefix(tool, besideOf("")) || strings.HasPrefix(tool, truthColumn("")) {
				continue
			}
			if err := j.add(runs, tool); err != nil {
				return fmt.Errorf("%s: %w", tool, err)
			}
		}
	}
	if j.program != "" {
		compare(j.program, runs)
		return nil
	}
	j.print(runs)
	return nil
}

func (j *job) add(runs map[string][]run, tool string) error {
	beside := make(chan error, 1)
	if with := besideOf(tool); slices.Contains(tools, with) {
		go func() {
			r, err := j.perf()
			runs[with] = append(runs[with], r)
			beside <- err
		}()
	} else {
		beside <- nil
	}
	var r, truth run
	var err error
	if j.known != nil {
		r, truth, err = j.known.during(func() (run, error) { return j.record(tool) })
		runs[truthColumn(tool)] = append(runs[truthColumn(tool)], truth)
	} else {
		r, err = j.record(tool)
	}
	err = errors.Join(err, <-beside)
	runs[tool] = append(runs[tool], r)
	return err
}

func (j *job) record(tool string) (run, error) {
	if tool == "perf record" {
		return j.perf()
	}
	file, stats := filepath.Join(j.dir, "r.pb.gz"), filepath.Join(j.dir, "stats.json")
	cmd := exec.Command(j.prywalk, "record", "--engine", tool, "-p", strconv.Itoa(j.pid), "-F", strconv.Itoa(j.freq),
		"-d", strconv.Itoa(j.seconds), "-o", file, "--stats", stats)
	if out, err := cmd.CombinedOutput(); err != nil {
		return run{}, fmt.Errorf("%w: %s", err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		return run{}, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return run{}, err
	}
	r := run{shares: map[string]float64{}}
	total := 0.0
	for _, s := range p.Sample {
		name := leaf(s)
		total += float64(s.Value[3])
		r.shares[name] += float64(s.Value[3])
		if !strings.HasPrefix(name, "[") {
			r.named += float64(s.Value[3])
		}
	}
	r.scale(total)
	var st struct {
		Stopped       int64   `json:"stopped"`
		KernelSampled int64   `json:"kernel_sampled"`
		CPU           float64 `json:"cpu_self_s"`
		Complete      int64
		Samples       int64
	}
	if b, err := os.ReadFile(stats); err == nil && json.Unmarshal(b, &st) == nil {
		r.extra = fmt.Sprintf("%d stopped, %d sampled by the kernel, %.1f %% complete, own CPU %.2f s", st.Stopped,
			st.KernelSampled, 100*float64(st.Complete)/float64(max(st.Samples, 1)), st.CPU)
	}
	return r, nil
}

func (r *run) scale(total float64) {
	for name := range r.shares {
		r.shares[name] /= max(total, 1)
	}
	r.named /= max(total, 1)
}

func leaf(s *profile.Sample) string {
	for _, l := range s.Location {
		if l.Mapping != nil && l.Mapping.File == "[kernel]" {
			continue
		}
		if n := len(l.Line); n > 0 {
			return l.Line[n-1].Function.Name
		}
		return "?"
	}
	return "?"
}

func (j *job) perf() (run, error) {
	data := filepath.Join(j.dir, "perf.data")
	cmd := exec.Command("perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", strconv.Itoa(j.freq), "-o", data,
		"--", "sleep", strconv.Itoa(j.seconds))
	if out, err := cmd.CombinedOutput(); err != nil {
		return run{}, fmt.Errorf("%w: %s", err, out)
	}
	out, err := exec.Command("perf", "script", "-i", data, "--no-inline", "-F", perfscript.Fields, "--pid",
		strconv.Itoa(j.pid)).Output()
	if err != nil {
		return run{}, err
	}
	r := run{shares: map[string]float64{}}
	total := 0.0
	_, err = perfscript.Parse(bytes.NewReader(out), func(s *perfscript.Sample) error {
		name := "?"
		if f := s.User(); f != nil {
			name, _, _ = strings.Cut(strings.TrimSuffix(f.Name, ".abi0"), "@")
			r.named++
		}
		r.shares[name]++
		total++
		return nil
	})
	r.samples, r.extra = total, fmt.Sprintf("%.0f samples", total)
	r.scale(total)
	return r, err
}

func (j *job) print(runs map[string][]run) {
	mean := map[string]float64{}
	for _, r := range runs["perf record"] {
		for name, v := range r.shares {
			mean[name] += v
		}
	}
	for _, tool := range tools {
		for _, r := range runs[tool] {
			for name, v := range r.shares {
				if strings.HasPrefix(tool, truthColumn("")) {
					mean[name] += 1 + v
				} else {
					mean[name] += v / 100
				}
			}
		}
	}
	names := make([]string, 0, len(mean))
	for name := range mean {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(mean[b], mean[a]), cmp.Compare(a, b)) })
	fmt.Printf("| function | %s |\n", strings.Join(tools, " | "))
	for _, name := range names[:min(j.rows, len(names))] {
		fmt.Printf("| %s |", name)
		for _, tool := range tools {
			fmt.Printf(" %s |", spread(runs[tool], func(r *run) float64 { return r.shares[name] }))
		}
		fmt.Println()
	}
	fmt.Print("| with a function |")
	for _, tool := range tools {
		fmt.Printf(" %s |", spread(runs[tool], func(r *run) float64 { return r.named }))
	}
	fmt.Println()
	for _, tool := range tools {
		for _, r := range runs[tool] {
			fmt.Printf("%s: %s\n", tool, r.extra)
		}
	}
}

func spread(runs []run, of func(*run) float64) string {
	low, high, sum := 2.0, 0.0, 0.0
	for i := range runs {
		v := of(&runs[i])
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	return fmt.Sprintf("%.1f (%.1f–%.1f)", 100*sum/float64(len(runs)), 100*low, 100*high)
}
