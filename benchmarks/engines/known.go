// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/testtargets"
)

type known struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startKnown(mode string, threads int) (*known, error) {
	file, err := testtargets.Compile("turns.c", "-O2")
	if err != nil {
		return nil, err
	}
	k := &known{cmd: exec.Command(file, mode, strconv.Itoa(threads))}
	k.cmd.Stderr = os.Stderr
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	k.out = bufio.NewScanner(out)
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	if !k.out.Scan() {
		k.stop()
		return nil, fmt.Errorf("%s did not start", file)
	}
	time.Sleep(200 * time.Millisecond)
	return k, nil
}

func (k *known) stop() {
	_ = k.in.Close()
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

func (k *known) sums() (map[string]float64, error) {
	if _, err := io.WriteString(k.in, "\n"); err != nil {
		return nil, err
	}
	if !k.out.Scan() {
		return nil, io.ErrUnexpectedEOF
	}
	fields := strings.Fields(k.out.Text())
	sums := map[string]float64{}
	for i := 0; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i+1], 64)
		if err != nil {
			return nil, err
		}
		sums[fields[i]] = v
	}
	return sums, nil
}

func truthColumn(tool string) string { return "truth beside " + tool }

func (k *known) during(do func() (run, error)) (r, truth run, err error) {
	before, err := k.sums()
	if err != nil {
		return r, truth, err
	}
	if r, err = do(); err != nil {
		return r, truth, err
	}
	after, err := k.sums()
	if err != nil {
		return r, truth, err
	}
	all := after["all"] - before["all"]
	truth = run{shares: map[string]float64{}, extra: fmt.Sprintf("%.2f s of processor time", all/1e9)}
	for name, v := range after {
		if name != "all" {
			truth.shares[name] = (v - before[name]) / all
			truth.named += truth.shares[name]
		}
	}
	return r, truth, nil
}
