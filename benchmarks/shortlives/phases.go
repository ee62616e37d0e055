// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// Short-lived threads spend a quarter of their lives in each of four functions. Two run at a time.

var phases = [4]string{"phase_a", "phase_b", "phase_c", "phase_d"}

const phaseSeconds = 6

type shares [len(phases) + 1]float64

func (s *shares) add(seconds float64, stack ...string) {
	for i, name := range phases {
		if slices.Contains(stack, name) {
			s[i] += seconds
			return
		}
	}
	s[len(phases)] += seconds
}

func (b *bench) fourPhases(ctx context.Context, tools func() ([]tool, error), n int) error {
	exe, err := testtargets.Compile("phases.c")
	if err != nil {
		return err
	}
	fmt.Println("| life | Hz | tool | n | samples | a | b | c | d | without a function | standard error |")
	fmt.Println("|" + strings.Repeat(" --- |", 11))
	for _, life := range []int{2, 8, 30, 100} {
		for _, b.rate = range []int{99, 499} {
			chosen, err := tools()
			if err != nil {
				return err
			}
			for i := range chosen {
				if t := &chosen[i]; t.program != "" && t.shares != nil {
					if err := b.phaseRow(ctx, exe, life, t, n); err != nil {
						return fmt.Errorf("%d ms, %s: %w", life, t.name, err)
					}
				}
			}
		}
	}
	return nil
}

// The standard error is that of a share of all samples, with at most one per life of life ms.
func (b *bench) phaseRow(ctx context.Context, exe string, life int, t *tool, n int) error {
	var sum shares
	for range n {
		cmd := exec.CommandContext(ctx, exe, itoa(1000*life), "2", itoa(phaseSeconds))
		says, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		if _, err := bufio.NewReader(says).ReadString('\n'); err != nil {
			return fmt.Errorf("it is not ready: %w", err)
		}
		out := filepath.Join(b.dir, "recording")
		_ = os.Remove(out)
		watch := exec.CommandContext(ctx, t.program, t.args(cmd.Process.Pid, out)...)
		if err := watch.Start(); err != nil {
			return err
		}
		_ = cmd.Wait()
		if t.stop {
			_ = watch.Process.Signal(os.Interrupt)
		}
		_ = watch.Wait()
		got, err := t.shares(out, cmd.Process.Pid)
		if err != nil {
			return err
		}
		for i := range sum {
			sum[i] += got[i]
		}
	}
	all := 0.0
	for _, s := range sum {
		all += s
	}
	samples := all * float64(b.rate)
	fmt.Printf("| %d ms | %d | %s | %d | %.0f |", life, b.rate, t.name, n, samples)
	for _, s := range sum {
		fmt.Printf(" %.1f |", 100*s/all)
	}
	fmt.Printf(" %.1f |\n", 100*math.Sqrt(0.25*0.75/samples))
	return nil
}

func pprofShares(out string, _ int) (s shares, err error) {
	f, err := os.Open(out)
	if err != nil {
		return s, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return s, err
	}
	for _, sample := range p.Sample {
		var stack []string
		for _, l := range sample.Location {
			for _, line := range l.Line {
				stack = append(stack, line.Function.Name)
			}
		}
		s.add(float64(sample.Value[3])/1e9, stack...)
	}
	return s, nil
}

func perfShares(out string, pid int) (s shares, err error) {
	text, err := exec.Command("perf", "script", "-i", out, "-F", "pid,period,ip,sym").Output()
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] != itoa(pid) {
			continue
		}
		if period, err := strconv.ParseFloat(f[1], 64); err == nil {
			s.add(period/1e9, f[3])
		}
	}
	return s, nil
}
