// SPDX-License-Identifier: Apache-2.0

// Command shortlives makes the table of benchmarks/results/short-lives.md: by tool, how much CPU time (wait4) of
// short-lived processes and threads has a function, only a place, only a program, or nothing.
//
//	go -C benchmarks run ./shortlives                                    all that is installed
//	go -C benchmarks run ./shortlives -only shell -n 1                   a short trial
//	go -C benchmarks run ./shortlives -only make,configure -source DIR   a C program with a configure script
//	go -C benchmarks run ./shortlives -missing                           what prywalk has no function for
//	go -C benchmarks run ./shortlives -phases                            shares of four functions in short threads
package main

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/internal/host/procmem"
)

func main() { command.Main("shortlives", compare) }

type bench struct {
	dir, prywalk, samply, pyspy string
	source                      string // of a C program with a configure script; "": no programs that build it
	missing                     bool
	rate                        int
}

func compare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("shortlives", flag.ContinueOnError)
	n := flags.Int("n", 3, "runs of each program with each tool")
	only := flags.String("only", "", "these programs, separated by commas")
	b := bench{rate: 99}
	fourPhases := flags.Bool("phases", false, "the shares of four functions, in threads that live for 2 to 100 ms")
	toolNames := flags.String("tool", "", "some of the tools: ptrace, prywalk, perf-p, perf-a, samply, py-spy")
	flags.StringVar(&b.source, "source", "", "a C program's source with a configure script, for make and configure")
	flags.BoolVar(&b.missing, "missing", false, "print where what has no function in prywalk's recordings is")
	flags.StringVar(&b.prywalk, "prywalk", "", "the prywalk to measure; built if it is not given")
	flags.StringVar(&b.samply, "samply", "samply", "samply's program")
	flags.StringVar(&b.pyspy, "py-spy", "py-spy", "py-spy's program")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names := make([]string, len(programs))
	for i := range programs {
		names[i] = programs[i].name
	}
	chosen, err := command.Only(*only, names)
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "prywalk-shortlives-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.prywalk, err = command.Prywalk(b.prywalk, b.dir); err != nil {
		return err
	}
	tools, err := b.chosen(*toolNames)
	if err != nil {
		return err
	}
	if *fourPhases {
		return b.fourPhases(ctx, func() ([]tool, error) { return b.chosen(*toolNames) }, *n)
	}
	fmt.Println("| program | CPU (s) | tool | n | in the recording | function | file only | program only | nothing |")
	fmt.Println("|" + strings.Repeat(" --- |", 9))
	for _, p := range programs {
		if p.source && b.source == "" && slices.Contains(chosen, p.name) {
			fmt.Fprintf(os.Stderr, "shortlives: %s is left out: it needs -source\n", p.name)
			continue
		}
		if slices.Contains(chosen, p.name) {
			if err := b.row(ctx, &p, tools, *n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) chosen(names string) ([]tool, error) {
	tools := b.tools()
	known := make([]string, len(tools))
	for i := range tools {
		known[i] = tools[i].short
	}
	chosen, err := command.Only(names, known)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(tools, func(t tool) bool { return !slices.Contains(chosen, t.short) }), nil
}

func (b *bench) row(ctx context.Context, p *program, tools []tool, n int) error {
	cpu, has := make([][]float64, len(tools)), make([][]found, len(tools))
	for range n {
		for i := range tools {
			if tools[i].program == "" || tools[i].only != "" && tools[i].only != p.language {
				continue
			}
			used, got, err := b.once(ctx, p, &tools[i])
			if err != nil {
				return fmt.Errorf("%s with %s: %w", p.name, tools[i].name, err)
			}
			cpu[i], has[i] = append(cpu[i], used), append(has[i], got)
		}
	}
	for i := range tools {
		if len(cpu[i]) == 0 {
			continue
		}
		fmt.Printf("| %s | %s | %s | %d |", p.what, spread("%.2f", cpu[i]), tools[i].name, len(cpu[i]))
		for _, part := range []func(found) float64{
			func(f found) float64 { return f.all }, func(f found) float64 { return f.named },
			func(f found) float64 { return f.placed - f.named }, func(f found) float64 { return f.program },
			func(f found) float64 { return f.all - f.placed - f.program },
		} {
			var shares []float64
			for k, f := range has[i] {
				shares = append(shares, 100*part(f)/cpu[i][k])
			}
			fmt.Printf(" %s |", spread("%.1f", shares))
		}
		fmt.Println()
		if b.missing {
			printMissing(has[i])
		}
	}
	return nil
}

func printMissing(has []found) {
	last := has[len(has)-1]
	where := slices.SortedFunc(maps.Keys(last.missing), func(a, b string) int {
		return cmp.Or(cmp.Compare(last.missing[b], last.missing[a]), cmp.Compare(a, b))
	})
	for _, w := range where[:min(len(where), 12)] {
		fmt.Printf("  %5.1f  %s\n", 100*last.missing[w]/last.all, w)
	}
}

func spread(format string, values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	low, high := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
	if low == high {
		return low
	}
	return low + " to " + high
}

const settle = 2 * time.Second

// once returns the CPU time of the program with all waited-for children, and the recording's, s.
func (b *bench) once(ctx context.Context, p *program, t *tool) (used float64, has found, err error) {
	if p.prepare != nil {
		if text, err := exec.CommandContext(ctx, "sh", "-c", p.prepare(b), "shortlives").CombinedOutput(); err != nil {
			return 0, has, fmt.Errorf("preparing it: %w: %s", err, text)
		}
	}
	args := p.args(b.dir)
	if !p.waits {
		args = append([]string{"sh", "-c", `echo ready; read go; exec "$@" >/dev/null`, "shortlives"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = b.dir
	var said strings.Builder
	cmd.Stderr = &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, has, err
	}
	says, err := cmd.StdoutPipe()
	if err != nil {
		return 0, has, err
	}
	if err := cmd.Start(); err != nil {
		return 0, has, err
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(says).ReadString('\n'); err != nil {
		return 0, has, fmt.Errorf("it says %q instead of ready: %w", line, err)
	}
	out := filepath.Join(b.dir, "recording")
	_ = os.Remove(out)
	watch := exec.CommandContext(ctx, t.program, t.args(cmd.Process.Pid, out)...)
	var heard strings.Builder
	watch.Stdout, watch.Stderr = &heard, &heard
	if err := watch.Start(); err != nil {
		return 0, has, err
	}
	defer watch.Process.Kill()
	time.Sleep(settle)
	before, err := procmem.ProcessCPU(cmd.Process.Pid)
	if err != nil {
		return 0, has, err
	}
	if _, err := io.WriteString(stdin, "\n"); err != nil {
		return 0, has, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, has, fmt.Errorf("%w: %s", err, said.String())
	}
	if t.stop {
		_ = watch.Process.Signal(syscall.SIGINT)
	}
	_ = watch.Wait()
	u := cmd.ProcessState
	has, err = t.read(out, cmd.Process.Pid)
	if err != nil {
		return 0, has, fmt.Errorf("%w: %s", err, heard.String())
	}
	return (u.UserTime() + u.SystemTime()).Seconds() - float64(before)/1e9, has, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
