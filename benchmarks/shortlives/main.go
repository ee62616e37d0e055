// Command shortlives records programs whose processes and threads live shortly with prywalk, perf record, samply and
// py-spy, one after the other. It prints which share of the processor time that the kernel has charged (wait4) stands
// in each recording with a function. In parentheses is the share with a function or a place in a file without symbols.
//
//	go run ./benchmarks/shortlives                          all that is installed, a table on standard output
//	go run ./benchmarks/shortlives -only shell -n 1         a short trial
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

func main() { command.Main("shortlives", compare) }

// rate is how often all are asked to look, in Hz.
const rate = 99

// bench is one comparison.
type bench struct {
	dir, prywalk, samply, pyspy string
}

func compare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("shortlives", flag.ContinueOnError)
	n := flags.Int("n", 3, "runs of each program with each tool")
	only := flags.String("only", "", "these programs, separated by commas")
	var b bench
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
	if b.prywalk == "" {
		b.prywalk = filepath.Join(b.dir, "prywalk")
		if err := testtargets.BuildPrywalk(b.prywalk); err != nil {
			return err
		}
	}
	tools := b.tools()
	fmt.Print("| program | CPU (s) |")
	for _, t := range tools {
		fmt.Printf(" %s |", t.name)
	}
	fmt.Println("\n| --- | --- |" + strings.Repeat(" --- |", len(tools)))
	for _, p := range programs {
		if slices.Contains(chosen, p.name) {
			if err := b.row(ctx, &p, tools, *n); err != nil {
				return err
			}
		}
	}
	return nil
}

// row measures a program with all tools, in turns, and prints what came of it.
func (b *bench) row(ctx context.Context, p *program, tools []tool, n int) error {
	var cpu []float64
	named, placed := make([][]float64, len(tools)), make([][]float64, len(tools))
	for range n {
		for i := range tools {
			if tools[i].program == "" || tools[i].only != "" && tools[i].only != p.language {
				continue
			}
			used, has, err := b.once(ctx, p, &tools[i])
			if err != nil {
				return fmt.Errorf("%s with %s: %w", p.name, tools[i].name, err)
			}
			cpu = append(cpu, used)
			named[i], placed[i] = append(named[i], 100*has.named/used), append(placed[i], 100*has.placed/used)
		}
	}
	fmt.Printf("| %s | %s |", p.what, spread("%.2f", cpu))
	for i := range tools {
		fmt.Printf(" %s (%s) |", spread("%.1f", named[i]), spread("%.1f", placed[i]))
	}
	fmt.Println()
	return nil
}

// spread gives the least and the most of some values, "-" for none.
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

// settle is how long a tool has to attach before the program begins.
const settle = 2 * time.Second

// once runs a program under a tool. It gives the processor time of the program and of all that it has waited for, and
// how much of it the tool's recording has, in seconds.
func (b *bench) once(ctx context.Context, p *program, t *tool) (used float64, has found, err error) {
	args := p.args(b.dir)
	if !p.waits {
		args = append([]string{"sh", "-c", `echo ready; read go; exec "$@"`, "shortlives"}, args...)
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
	_ = os.Remove(out) // of the run before
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
	if t.stop { // the others end with the program
		_ = watch.Process.Signal(syscall.SIGINT)
	}
	_ = watch.Wait() // the exit code after a signal differs; the recording tells
	u := cmd.ProcessState
	has, err = t.read(out, cmd.Process.Pid)
	if err != nil {
		return 0, has, fmt.Errorf("%w: %s", err, heard.String())
	}
	return (u.UserTime() + u.SystemTime()).Seconds() - float64(before)/1e9, has, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
