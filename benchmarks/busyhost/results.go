// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
	"prywalk/internal/testtargets"

	"golang.org/x/sys/unix"
)

type row struct{ Load, Program, Tool string }

type results map[row][]outcome

// An outcome is of one measurement. Shares are of the program's CPU time.
type outcome struct {
	At               time.Time
	Rate, PerCPU     float64 // work by ns, and by ns of CPU time
	Left, LeftPerCPU float64 // the same, as shares of those without a tool
	Own, LoadAverage float64 // the tool's CPUs
	Stops            bool    // the next two are known
	Lost, Longest    float64 // share; ms
	Sampled          bool    // the next two are known
	Unobserved       float64 // share
	StopRate         float64 // stops a second
	Host             string  // revision and machine
}

// measurement is a line of a -raw file.
type measurement struct {
	row
	outcome
}

func (r results) add(m measurement, raw io.Writer) error {
	r[m.row] = append(r[m.row], m.outcome)
	return json.NewEncoder(raw).Encode(m)
}

// addRound adds the outcomes of a process. bare are those without a tool.
func (r results) addRound(round results, bare []outcome, raw io.Writer) error {
	var rate, perCPU float64
	for _, o := range bare {
		rate += o.Rate / float64(len(bare))
		perCPU += o.PerCPU / float64(len(bare))
	}
	for row, list := range round {
		for _, o := range list {
			o.Left, o.LeftPerCPU = o.Rate/max(rate, least), o.PerCPU/max(perCPU, least)
			if err := r.add(measurement{row, o}, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// read takes the lines of a -raw file.
func (r results) read(file io.Reader) error {
	for lines := json.NewDecoder(file); ; {
		var m measurement
		switch err := lines.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		r[m.row] = append(r[m.row], m.outcome)
	}
}

func (r results) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return r.read(file)
}

// text is the table with what its figures depend on.
func (r results) text(b *bench) string {
	table := markdown.NewTable("busy processes", "program", "tool", "n", "program, % of a CPU",
		"throughput left, %", "the same by CPU time, %",
		"time in stops, % of CPU time", "longest stop, ms", "CPU time without a sample, %", "stops/s", "tool, % of a CPU")
	for _, row := range slices.SortedFunc(maps.Keys(r), inOrder) {
		cells := append([]string{row.Load, row.Program, row.Tool, strconv.Itoa(len(r[row]))}, cells(r[row])...)
		table.Row(cells...)
	}
	return fmt.Sprintf("%s; %s. Medians (least to greatest) of n measurements of %v, in turn. 100 %% is the mean of "+
		"two without a tool, \"none\".\n\n%s", r.hosts(), r.conditions(), b.length, table)
}

func inOrder(a, b row) int {
	load := func(r row) int { n, _ := strconv.Atoi(r.Load); return n }
	program := func(r row) int {
		return slices.IndexFunc(programs, func(p program) bool { return p.name == r.Program })
	}
	peer := func(r row) int { return strings.Count(r.Tool, "record") }
	return cmp.Or(cmp.Compare(load(a), load(b)), cmp.Compare(program(a), program(b)), cmp.Compare(peer(a), peer(b)),
		strings.Compare(a.Tool, b.Tool))
}

func cells(list []outcome) []string {
	all := func(outcome) bool { return true }
	stops := func(o outcome) bool { return o.Stops }
	sampled := func(o outcome) bool { return o.Sampled }
	return []string{
		cell("%.1f", list, all, func(o outcome) float64 { return 100 * o.Rate / max(o.PerCPU, least) }),
		cell("%.0f", list, all, func(o outcome) float64 { return 100 * o.Left }),
		cell("%.0f", list, all, func(o outcome) float64 { return 100 * o.LeftPerCPU }),
		cell("%.2f", list, stops, func(o outcome) float64 { return 100 * o.Lost }),
		cell("%.2f", list, stops, func(o outcome) float64 { return o.Longest }),
		cell("%.1f", list, sampled, func(o outcome) float64 { return 100 * o.Unobserved }),
		cell("%.1f", list, sampled, func(o outcome) float64 { return o.StopRate }),
		cell("%.1f", list, all, func(o outcome) float64 { return 100 * o.Own }),
	}
}

// cell is empty where nothing is known.
func cell(format string, list []outcome, known func(outcome) bool, of func(outcome) float64) string {
	var values []float64
	for _, o := range list {
		if known(o) {
			values = append(values, of(o))
		}
	}
	if len(values) == 0 {
		return ""
	}
	slices.Sort(values)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stats.Median(values), values[0], values[len(values)-1])
}

func host() string {
	paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid") // or it is as if it were empty
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return fmt.Sprintf("%s, Linux %s, perf_event_paranoid %s, user %d, nice %d", machine.CPUModel(), machine.Kernel(),
		strings.TrimSpace(string(paranoid)), user(), 20-nice)
}

func user() int {
	if os.Geteuid() == 0 {
		return int(testtargets.Nobody.UID)
	}
	return os.Geteuid()
}

// hosts are the revisions and machines of all measurements.
func (r results) hosts() string {
	found := map[string]bool{}
	for _, list := range r {
		for _, o := range list {
			found[o.Host] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), "; ")
}

// conditions are the time, and the load average by the number of busy processes.
func (r results) conditions() string {
	var first, last time.Time
	loads := map[string][]float64{}
	for row, list := range r {
		for _, o := range list {
			loads[row.Load] = append(loads[row.Load], o.LoadAverage)
			if first.IsZero() || o.At.Before(first) {
				first = o.At
			}
			if o.At.After(last) {
				last = o.At
			}
		}
	}
	text := first.Format("2 January 2006 15:04") + " to " + last.Format("15:04")
	for _, load := range slices.Sorted(maps.Keys(loads)) {
		text += fmt.Sprintf(", load average %.0f to %.0f beside %s busy processes", slices.Min(loads[load]),
			slices.Max(loads[load]), load)
	}
	return text
}
