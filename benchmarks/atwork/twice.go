// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/internal/testtargets"
)

const scripts = "src/more"

const nobody = 65534

var asNobody = []string{"setpriv", "--reuid", strconv.Itoa(nobody), "--regid", strconv.Itoa(nobody), "--clear-groups"}

const twiceTime = 4 * time.Second

type as struct {
	user string
	args []string
}

var twiceAs = []as{{"root, auto", nil}, {"user, ptrace", asNobody}}

func (s *settings) twice(ctx context.Context, only []string) error {
	if os.Getuid() != 0 {
		return errors.New("-twice needs root: programs and one of two recordings run as another user")
	}
	files, err := sources.ReadDir(scripts)
	if err != nil {
		return err
	}
	fmt.Print(twiceHead)
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sh")
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		if err := s.twiceOf(ctx, name); err != nil {
			fmt.Printf("%s\t-\t%s\t\t\t\t\t\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (s *settings) twiceOf(ctx context.Context, name string) error {
	text, err := sources.ReadFile(scripts + "/" + name + ".sh")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "prywalk-atwork-")
	if err != nil {
		return err
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		return err
	}
	run := slices.Concat(asNobody, []string{"sh", "-c", "cd " + dir + "\n" + string(text)})
	t, err := testtargets.Command(dir, programTime, run...)
	if err != nil {
		needs, _, _ := strings.Cut(string(text), "\n")
		return fmt.Errorf("%w (%s)", err, strings.TrimPrefix(needs, "# "))
	}
	defer t.Stop()
	if err := pause(ctx, s.settle); err != nil {
		return err
	}
	for i := range twiceAs {
		f, err := s.recordAs(ctx, &twiceAs[i], t.PID)
		if err != nil {
			return err
		}
		fmt.Print(f.twiceRow(name, twiceAs[i].user))
	}
	return nil
}

func (s *settings) recordAs(ctx context.Context, a *as, pid int) (*figures, error) {
	dir, err := os.MkdirTemp("", "prywalk-atwork-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	engine := "auto"
	if len(a.args) > 0 {
		engine = "ptrace"
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return nil, err
		}
	}
	file, stats := filepath.Join(dir, "r.pb.gz"), filepath.Join(dir, "stats.json")
	args := slices.Concat(a.args, []string{s.binary, "record", "--engine", engine, "-p", strconv.Itoa(pid), "--children",
		"-d", twiceTime.String(), "-o", file, "--stats", stats})
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("prywalk record: %w: %s", err, strings.TrimSpace(said.String()))
	}
	f, err := read(file, stats)
	if err != nil {
		return nil, err
	}
	report, err := exec.CommandContext(ctx, s.binary, "report", "--json", file).Output()
	if err != nil {
		return nil, fmt.Errorf("prywalk report: %w", err)
	}
	return f, json.Unmarshal(report, &f.Report)
}

const twiceHead = "program\trecorded by\tCPU with complete stacks, %\tprofile, s; kernel, s\tstops; over 1 ms\t" +
	"incomplete, by samples\tunobserved, s\tload\n"

func (f *figures) twiceRow(name, user string) string {
	s := &f.Stats
	unobserved := []string{}
	for _, u := range []struct {
		s    float64
		what string
	}{{s.CPUUnobservedS, ""}, {s.CPUShortLivedS, " short-lived"}} {
		if u.s >= 0.005 {
			unobserved = append(unobserved, fmt.Sprintf("%.2f%s", u.s, u.what))
		}
	}
	return fmt.Sprintf("%s\t%s\t%.2f\t%.2f; %.2f\t%s\t%s\t%s\t%.0f\n", name, user, 100*f.Report.CompleteCPU,
		s.CPUProfiledS, s.CPUTargetS, s.stopsOverMS(), f.commonestClasses(), strings.Join(unobserved, ", "), machine.Load())
}

func (s *runStats) stopsOverMS() string {
	var n int64
	for _, b := range s.StopTimes {
		if b.BelowUS > 1100 { // the class that ends at 2^20 ns is below
			n += b.N
		}
	}
	text := fmt.Sprintf("%d; %d", s.Stopped, n)
	if n > 0 {
		for _, cause := range byCount(counts(s.LongStops)) {
			text += " " + cause
		}
	}
	return text
}

func counts(long map[string]longStopsOf) map[string]int64 {
	m := map[string]int64{}
	for cause, l := range long {
		m[cause] = l.N
	}
	return m
}

func (f *figures) commonestClasses() string {
	var all []string
	for i, c := range f.Classes {
		if i == 2 {
			break
		}
		all = append(all, fmt.Sprintf("%.1f %% %s %s", per(float64(c.Samples), float64(f.Running)), c.Reason, c.Place))
	}
	return strings.Join(all, ", ")
}
