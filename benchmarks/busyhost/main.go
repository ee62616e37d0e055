// SPDX-License-Identifier: Apache-2.0

// Command busyhost makes the table of benchmarks/results/busy-host.md: what stops cost a program on a busy host if
// prywalk runs as an ordinary user. The program measures its own stops (c/target.c). As root it runs all as nobody.
//
//	go -C benchmarks run ./busyhost -docs benchmarks/results/busy-host.md
//	go -C benchmarks run ./busyhost -load 4 -n 2 -prywalk OLD,NEW     two builds, in turn
//	go -C benchmarks run ./busyhost -command 'python3 server.py'      another program; its stops as prywalk counts them
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/internal/testtargets"
)

//go:embed c/target.c
var targetSource []byte

const nobody = 65534

const noSamples = 4 // exit code: all time is without a sample

func main() { command.Main("busyhost", measure) }

type bench struct {
	dir     string
	length  time.Duration
	target  []string // threads that compute, threads that nap
	other   []string // a program in place of the target; empty: none
	loads   []string
	builds  []string
	engines []string
	rounds  int
}

type outcome struct {
	lost, longest, p99        float64 // share of the target's CPU time; ms
	unobserved, own, stopRate float64 // share; CPUs; stops a second
}

func measure(ctx context.Context, args []string) (err error) {
	b := bench{}
	flags := flag.NewFlagSet("busyhost", flag.ContinueOnError)
	loads := flags.String("load", "4,16", "processes that only compute, beside the target")
	engines := flags.String("engines", "auto,ptrace", "values of --engine")
	builds := flags.String("prywalk", "", "programs to measure (default: built from this checkout)")
	target := flags.String("target", "1,0", "threads of the target that compute, and that nap")
	other := flags.String("command", "", "a program to record in place of the target: its stops are those of --stats, "+
		"and time in kernel samples counts with them")
	docs := flags.String("docs", "", "put the table between the markers of this page")
	flags.IntVar(&b.rounds, "n", 10, "recordings of a row")
	flags.DurationVar(&b.length, "d", 5*time.Second, "length of a recording")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "prywalk-busyhost-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.other = strings.Fields(*other)
	b.loads, b.engines, b.target = strings.Split(*loads, ","), strings.Split(*engines, ","), strings.Split(*target, ",")
	if err := b.prepare(ctx, *builds); err != nil {
		return err
	}
	table := markdown.NewTable("busy processes", "prywalk", "target's time in stops, % of its CPU time",
		"longest stop, ms", "p99, ms", "CPU time without a sample, %", "prywalk, % of a CPU", "stops/s")
	for _, load := range b.loads {
		if err := b.ofLoad(ctx, load, table); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s, Linux %s, load average %.1f after. Threads of the target: %s compute, %s nap. Medians "+
		"(least to greatest) of n = %d recordings of %v, in turn; \"none\": without prywalk.\n\n%s", machine.CPUModel(),
		machine.Kernel(), machine.Load(), b.target[0], b.target[len(b.target)-1], b.rounds, b.length, table)
	fmt.Print(text)
	if *docs == "" {
		return nil
	}
	return markdown.ReplaceSection(*docs, "busyhost", func(string) string { return text })
}

// prepare makes what a user without rights can run.
func (b *bench) prepare(ctx context.Context, builds string) error {
	source := filepath.Join(b.dir, "target.c")
	if err := errors.Join(os.Chmod(b.dir, 0o777), os.WriteFile(source, targetSource, 0o600)); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-pthread", "-o", filepath.Join(b.dir, "target"),
		source).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot compile the target (Debian: gcc): %w: %s", err, out)
	}
	if builds == "" {
		b.builds = []string{filepath.Join(b.dir, "prywalk")}
		return testtargets.BuildPrywalk(b.builds[0])
	}
	b.builds = strings.Split(builds, ",")
	return nil
}

func (b *bench) ofLoad(ctx context.Context, load string, table *markdown.Table) error {
	n, err := strconv.Atoi(load)
	if err != nil {
		return err
	}
	for range n {
		busy := b.command(ctx, "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			return err
		}
		defer func() { _, _ = busy.Process.Kill(), busy.Wait() }()
	}
	var rows []string
	if len(b.other) == 0 {
		rows = []string{"none"}
	}
	for _, build := range b.builds {
		for _, engine := range b.engines {
			rows = append(rows, build+" --engine "+engine)
		}
	}
	got := map[string][]outcome{}
	for range b.rounds {
		for _, i := range rand.Perm(len(rows)) {
			o, err := b.record(ctx, rows[i])
			if err != nil {
				return fmt.Errorf("%s: %w", rows[i], err)
			}
			got[rows[i]] = append(got[rows[i]], o)
		}
	}
	for _, row := range rows {
		cell := func(of func(outcome) float64) string { return summary(got[row], of) }
		table.Row(load, filepath.Base(row), cell(func(o outcome) float64 { return 100 * o.lost }),
			cell(func(o outcome) float64 { return o.longest }), cell(func(o outcome) float64 { return o.p99 }),
			cell(func(o outcome) float64 { return 100 * o.unobserved }), cell(func(o outcome) float64 { return 100 * o.own }),
			cell(func(o outcome) float64 { return o.stopRate }))
	}
	return nil
}

func summary(list []outcome, of func(outcome) float64) string {
	var values []float64
	for _, o := range list {
		values = append(values, of(o))
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", values[len(values)/2], values[0], values[len(values)-1])
}

func (b *bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.dir
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// record runs the target, and prywalk beside it.
func (b *bench) record(ctx context.Context, row string) (o outcome, err error) {
	if len(b.other) > 0 {
		return b.recordOther(ctx, row)
	}
	target := b.command(ctx, filepath.Join(b.dir, "target"), b.target...)
	var printed bytes.Buffer
	target.Stdout = &printed
	stdin, err := target.StdinPipe()
	if err != nil {
		return o, err
	}
	if err := target.Start(); err != nil {
		return o, err
	}
	if row == "none" {
		time.Sleep(b.length)
	} else {
		o, err = b.prywalk(ctx, row, target.Process.Pid)
	}
	if err := errors.Join(err, stdin.Close(), target.Wait()); err != nil {
		return o, err
	}
	return o, o.addStops(&printed)
}

func (b *bench) recordOther(ctx context.Context, row string) (o outcome, err error) {
	target := b.command(ctx, b.other[0], b.other[1:]...)
	if err := target.Start(); err != nil {
		return o, err
	}
	defer func() { _, _ = target.Process.Kill(), target.Wait() }()
	time.Sleep(2 * time.Second) // its start is not measured
	return b.prywalk(ctx, row, target.Process.Pid)
}

func (b *bench) prywalk(ctx context.Context, row string, pid int) (o outcome, err error) {
	build, engine, _ := strings.Cut(row, " ")
	args := append(strings.Fields(engine), "-q", "-p", strconv.Itoa(pid), "-d", b.length.String(), "-o", "x.pb.gz",
		"--stats", "stats.json")
	cmd := b.command(ctx, build, append([]string{"record"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != noSamples {
		return o, fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "stats.json"))
	if err != nil {
		return o, err
	}
	var s struct {
		CPUTarget  float64 `json:"cpu_target_s"`
		Unobserved float64 `json:"cpu_unobserved_s"`
		Self       float64 `json:"cpu_self_s"`
		Duration   float64 `json:"duration_s"`
		Lost       float64 `json:"lost_s"`
		Lengths    struct {
			P99 float64 `json:"p99"`
			Max float64 `json:"max"`
		} `json:"stop_us"`
		Stops []struct {
			N float64 `json:"n"`
		} `json:"stops"`
	}
	err = json.Unmarshal(text, &s)
	o.unobserved, o.own = s.Unobserved/s.CPUTarget, s.Self/s.Duration
	o.lost, o.longest, o.p99 = s.Lost/s.CPUTarget, s.Lengths.Max/1e3, s.Lengths.P99/1e3
	for _, class := range s.Stops {
		o.stopRate += class.N / s.Duration
	}
	return o, err
}

// addStops reads what the target has measured.
func (o *outcome) addStops(printed *bytes.Buffer) error {
	var cpu, sum float64
	var stops []float64
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		kind, number, _ := strings.Cut(lines.Text(), " ")
		ns, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return err
		}
		if kind == "cpu" {
			cpu += ns
			continue
		}
		sum += ns
		stops = append(stops, ns/1e6)
	}
	if cpu == 0 {
		return errors.New("the target got no CPU")
	}
	o.longest, o.p99 = 0, 0
	slices.SortFunc(stops, cmp.Compare[float64])
	if o.lost = sum / cpu; len(stops) > 0 {
		o.longest, o.p99 = stops[len(stops)-1], stops[len(stops)*99/100]
	}
	return nil
}
