// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

type tool struct {
	short   string
	name    string
	program string // path; "": not installed
	only    string // its only language; "": all
	stop    bool   // it runs on after the target's end
	args    func(pid int, out string) []string
	read    func(out string, pid int) (found, error)
	shares  func(out string, pid int) (shares, error)
}

// found is a recording's CPU time, s: with a function's name; with a place in a program's code; with a program only;
// and by place without name.
type found struct {
	all, named, placed, program float64
	missing                     map[string]float64
}

func (f *found) add(s float64, named, placed bool) {
	f.all += s
	if named {
		f.named += s
	}
	if placed {
		f.placed += s
	}
}

func (f *found) lacks(s float64, where string) {
	if f.missing == nil {
		f.missing = map[string]float64{}
	}
	f.missing[where] += s
}

func (b *bench) tools() []tool {
	perf := []string{"record", "-q", "-e", "cpu-clock", "-F", itoa(b.rate), "-o"}
	return []tool{
		{"ptrace", "prywalk `--engine ptrace`", b.prywalk, "", false, b.record("ptrace"), readPprof, pprofShares},
		{"prywalk", "prywalk", b.prywalk, "", false, b.record("auto"), readPprof, pprofShares},
		{"perf-p", "perf record -p", installed("perf"), "", false, func(pid int, out string) []string {
			return append(perf[:len(perf):len(perf)], out, "-p", itoa(pid))
		}, readPerf, perfShares},
		{"perf-a", "perf record -a", installed("perf"), "", true, func(_ int, out string) []string {
			return append(perf[:len(perf):len(perf)], out, "-a")
		}, readPerf, perfShares},
		{"samply", "samply", installed(b.samply), "", false, func(pid int, out string) []string {
			return []string{"record", "--save-only", "-r", itoa(b.rate), "-o", out, "-p", itoa(pid)}
		}, b.readSamply, nil},
		{"py-spy", "py-spy", installed(b.pyspy), "python", false, func(pid int, out string) []string {
			return []string{"record", "--subprocesses", "-r", itoa(b.rate), "-f", "raw", "-d", "600", "-o", out, "-p", itoa(pid)}
		}, b.readFolded, nil},
	}
}

func installed(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

func (b *bench) record(engine string) func(int, string) []string {
	return func(pid int, out string) []string {
		return []string{"record", "--children", "--engine", engine, "-F", itoa(b.rate), "-o", out, "-p", itoa(pid)}
	}
}

func readPprof(out string, _ int) (sum found, err error) {
	text, err := os.ReadFile(out)
	if err != nil {
		return sum, err
	}
	p, err := profile.Parse(bytes.NewReader(text))
	if err != nil {
		return sum, err
	}
	for _, s := range p.Sample {
		l, name, cpu := s.Location[0], "", float64(s.Value[3])/1e9
		if len(l.Line) > 0 {
			name = l.Line[0].Function.Name
		}
		named := name != "" && !strings.ContainsRune("[/", rune(name[0]))
		inFile := l.Mapping != nil && strings.HasPrefix(l.Mapping.File, "/")
		sum.add(cpu, named, named || inFile)
		if !named && !inFile && ofProgram(s) {
			sum.program += cpu
		}
		if !named {
			if inFile {
				name = l.Mapping.File
			}
			sum.lacks(cpu, strings.Join(append(s.Label["comm"], append(s.Label["thread"], name)...), " · "))
		}
	}
	return sum, nil
}

// ofProgram reports whether the program of a time without function is known.
func ofProgram(s *profile.Sample) bool {
	return len(s.Label["thread"]) == 0 || s.Label["thread"][0] != "[children]"
}

var fork = regexp.MustCompile(`PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)`)

func readPerf(out string, pid int) (sum found, err error) {
	text, err := exec.Command("perf", "script", "-i", out, "-F", "pid,period,ip,sym,dso", "--show-task-events").Output()
	if err != nil {
		return sum, err
	}
	family := map[string]bool{itoa(pid): true}
	for line := range strings.Lines(string(text)) {
		if m := fork.FindStringSubmatch(line); m != nil {
			family[m[1]] = family[m[1]] || family[m[2]]
			continue
		}
		f := strings.Fields(line)
		if len(f) < 5 || !family[f[0]] {
			continue
		}
		period, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		named := f[3] != "[unknown]"
		sum.add(period/1e9, named, named || strings.HasPrefix(f[len(f)-1], "(/"))
	}
	return sum, nil
}

func (b *bench) readFolded(out string, _ int) (found, error) {
	text, err := os.ReadFile(out)
	if err != nil {
		return found{}, err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		_, last, _ := cutLast(strings.TrimSpace(line), " ")
		if count, err := strconv.Atoi(last); err == nil {
			n += count
		}
	}
	sum := float64(n) / float64(b.rate)
	return found{all: sum, named: sum, placed: sum}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// readSamply counts samples with a stack: functions are looked up only when the recording is shown.
func (b *bench) readSamply(out string, _ int) (found, error) {
	text, err := os.ReadFile(out)
	if err != nil {
		return found{}, err
	}
	var p struct {
		Threads []struct {
			Samples struct {
				Stack  []*int `json:"stack"`
				Weight []int  `json:"weight"`
			} `json:"samples"`
		} `json:"threads"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return found{}, errors.Join(errors.New("samply's recording"), err)
	}
	n := 0
	for _, t := range p.Threads {
		for i, stack := range t.Samples.Stack {
			if stack != nil && i < len(t.Samples.Weight) {
				n += t.Samples.Weight[i]
			}
		}
	}
	sum := float64(n) / float64(b.rate)
	return found{all: sum, placed: sum}, nil
}
