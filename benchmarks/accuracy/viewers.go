// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"prywalk/benchmarks/recordings"
)

type viewers struct {
	Profile int64 `json:"profile_ns"`
	Report  int64 `json:"report_ns"`
	Raw     int64 `json:"pprof_raw_ns"`
	Top     int64 `json:"pprof_top_ns"`
}

// OK reports whether all totals are equal.
func (v *viewers) OK() bool {
	return v.Report == v.Profile && v.Raw == v.Profile && math.Abs(float64(v.Top-v.Profile)) <= 0.005*float64(v.Profile)
}

func (b *bench) viewers(ctx context.Context, r *recording) (*viewers, error) {
	v := &viewers{Profile: r.total(recordings.CPUColumn)}
	top, err := output(ctx, "go", "tool", "pprof", "-top", "-unit=ns", "-sample_index=cpu", r.file)
	if err != nil {
		return nil, err
	}
	if found := regexp.MustCompile(`of (\d+)ns total`).FindStringSubmatch(top); found != nil {
		v.Top, _ = strconv.ParseInt(found[1], 10, 64)
	}
	raw, err := output(ctx, "go", "tool", "pprof", "-raw", r.file)
	if err != nil {
		return nil, err
	}
	v.Raw = rawTotal(raw, recordings.CPUColumn)
	folded, err := output(ctx, b.binary, "report", "--folded", "--value", "cpu", r.file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(folded) {
		line = strings.TrimSpace(line)
		n, _ := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
		v.Report += n
	}
	return v, nil
}

func rawTotal(text string, column int) int64 {
	_, text, _ = strings.Cut(text, "\nSamples:\n")
	text, _, _ = strings.Cut(text, "\nLocations\n")
	var sum int64
	for line := range strings.Lines(text) {
		values, _, ok := strings.Cut(line, ":")
		fields := strings.Fields(values)
		if !ok || len(fields) != recordings.Columns {
			continue
		}
		n, err := strconv.ParseInt(fields[column], 10, 64)
		if err == nil {
			sum += n
		}
	}
	return sum
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	var errs strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &errs
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}
