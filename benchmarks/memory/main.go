// SPDX-License-Identifier: Apache-2.0

// Command memory measures whether the memory of a recording grows with its length:
//
//	go -C benchmarks run ./memory   an hour's worth of ticks at 100 Hz, 360,000 (3 minutes)
//	go -C benchmarks run ./memory -threads 5000 -ticks 36000
//	go -C benchmarks run ./memory -docs benchmarks/results/memory.md
//
// The last puts the table into the page's section memory-20 (its threads). At each tenth of the ticks, at 2,000 Hz
// (-freq), the resident size is read (VmRSS, in the end VmHWM, of proc_pid_status(5)).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/internal/watch/sampler"
)

var (
	threads = flag.Int("threads", 20, "threads of the target")
	running = flag.Int("running", 1, "how many of them compute")
	freq    = flag.Int("freq", 2000, "ticks a second to ask for")
	ticks   = flag.Int64("ticks", 360000, "ticks to make")
	limit   = flag.Duration("limit", 20*time.Minute, "end after this time")
	docs    = flag.String("docs", "", "put the table between the markers of this page")
	binary  = flag.String("binary", "", "prywalk's file; else it is built")
)

func main() { command.Main("memory", run) }

func run(ctx context.Context, args []string) error {
	if asked, err := load.Asked(); asked {
		return err
	}
	if err := flag.CommandLine.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "prywalk-memory-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *binary, err = command.Prywalk(*binary, dir); err != nil {
		return err
	}
	workload, err := load.Command(ctx, load.Options{Running: *running, Sleeping: *threads - *running})
	if err != nil {
		return err
	}
	target, err := start(workload)
	if err != nil {
		return err
	}
	defer target.end()
	if line, err := target.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != load.Ready {
		return fmt.Errorf("the target did not start: %q %w", line, err)
	}
	file := filepath.Join(dir, "recording.pb.gz")
	p, err := start(exec.CommandContext(ctx, *binary, "record", "--engine", "ptrace", "-p",
		strconv.Itoa(target.cmd.Process.Pid), "-F", strconv.Itoa(*freq), "-o", file, "--control"))
	if err != nil {
		return err
	}
	defer p.end()
	return report(ctx, p, file)
}

func report(ctx context.Context, p *program, file string) error {
	load := machine.Load()
	sizes, err := watch(ctx, p)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d threads, %d running, %d ticks, up to %d a second. %s, Linux %s, load average %.1f before.\n\n",
		*threads, *running, *ticks, *freq,
		machine.CPUModel(), machine.Kernel(), load)
	table := markdown.NewTable("ticks", "s", "looks that stopped a thread", "resident, MB")
	for _, s := range sizes {
		table.Row(fmt.Sprint(s.ticks), fmt.Sprintf("%.0f", s.seconds), fmt.Sprint(s.frozen), fmt.Sprintf("%.1f", s.resident))
	}
	half, end := sizes[len(sizes)/2-1].resident, sizes[len(sizes)-1].resident
	text += fmt.Sprintf("%s\nFrom half of the ticks to all of them %+.1f MB; largest %.1f MB.", table, end-half,
		p.status("VmHWM:"))
	p.end()
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	text += fmt.Sprintf(" Recording %.2f MB, %.2f for each 6,000 ticks (a minute at 100 Hz).\n", float64(st.Size())/1e6,
		float64(st.Size())/1e6*6000/float64(max(sizes[len(sizes)-1].ticks, 1)))
	fmt.Print(text)
	if *docs == "" {
		return nil
	}
	return markdown.ReplaceSection(*docs, fmt.Sprintf("memory-%d", *threads), func(string) string { return text })
}

type size struct {
	ticks, frozen     int64
	seconds, resident float64
}

func watch(ctx context.Context, p *program) (sizes []size, err error) {
	began := time.Now()
	for ; len(sizes) < 10; time.Sleep(20 * time.Millisecond) {
		got, err := p.tell()
		if err != nil {
			return nil, err
		}
		for len(sizes) < 10 && got.Ticks >= *ticks*int64(len(sizes)+1)/10 {
			sizes = append(sizes, size{got.Ticks, got.Stops, time.Since(began).Seconds(), p.status("VmRSS:")})
			fmt.Fprintf(os.Stderr, "%d ticks, %.1f MB\n", got.Ticks, sizes[len(sizes)-1].resident)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return sizes, nil
}

type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(cmd *exec.Cmd) (*program, error) {
	p := &program{cmd: cmd}
	p.cmd.Stderr = os.Stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

func (p *program) tell() (got sampler.Counts, err error) {
	if _, err = io.WriteString(p.in, "tell\n"); err != nil {
		return got, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return got, err
	}
	return got, json.Unmarshal(line, &got)
}

func (p *program) status(field string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb * 1024 / 1e6
		}
	}
	return 0
}

func (p *program) end() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.in.Close()
	_ = p.cmd.Wait()
}
