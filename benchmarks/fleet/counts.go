// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/host/procmem"
)

type counts struct {
	sent, received []float64
	cpu            []float64
	memory         []float64
	collector      float64
	load           string
}

func (f *fleet) counts() counts {
	c := counts{collector: cpuOf(f.collector.Process.Pid)}
	for i, a := range f.agents {
		dir := filepath.Join("/sys/class/net", name(i), "statistics")
		c.sent = append(c.sent, number(dir+"/rx_bytes")) // received at this end, sent by the host
		c.received = append(c.received, number(dir+"/tx_bytes"))
		pid := agentOf(a.Process.Pid)
		c.cpu = append(c.cpu, cpuOf(pid))
		c.memory = append(c.memory, resident(pid))
	}
	text, _ := os.ReadFile("/proc/loadavg")
	c.load = strings.Join(strings.Fields(string(text))[:3], " ")
	return c
}

// agentOf returns unshare's child, or 0.
func agentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	first, _, _ := strings.Cut(string(text), " ")
	child, _ := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return child
}

func cpuOf(pid int) float64 {
	if pid == 0 {
		return math.NaN()
	}
	ns, err := procmem.ProcessCPU(pid)
	if err != nil {
		return math.NaN()
	}
	return float64(ns) / 1e9
}

func resident(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kB, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kB * 1024
		}
	}
	return math.NaN()
}

func number(path string) float64 {
	text, _ := os.ReadFile(path)
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

func (f *fleet) print(before, after counts, seconds float64) {
	fmt.Printf("%d hosts with %d threads, %.0f s; load averages %s before, %s after; %d processors\n\n",
		f.hosts, f.threads, seconds, before.load, after.load, runtime.NumCPU())
	fmt.Println("| for a host | median | least | greatest | hosts |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	row := func(what, form string, list []float64) {
		list = slices.DeleteFunc(list, math.IsNaN)
		slices.Sort(list)
		if len(list) == 0 {
			fmt.Printf("| %s | no value | | | 0 |\n", what)
			return
		}
		fmt.Printf("| %s | "+form+" | "+form+" | "+form+" | %d |\n", what, list[len(list)/2], list[0], list[len(list)-1],
			len(list))
	}
	row("bytes sent a second", "%.0f", rates(before.sent, after.sent, seconds))
	row("bytes received a second", "%.0f", rates(before.received, after.received, seconds))
	row("agent: processor time, ms a second", "%.2f", scaled(rates(before.cpu, after.cpu, seconds), 1e3))
	row("agent: resident memory, MB", "%.0f", scaled(after.memory, 1e-6))
	of := (after.collector - before.collector) / seconds
	fmt.Printf("\ncollector: %.1f ms of processor time a second, %.2f for a host; %.0f MB resident\n", of*1e3,
		of*1e3/float64(f.hosts), resident(f.collector.Process.Pid)/1e6)
	troubled := 0
	for i := range f.agents {
		text, _ := os.ReadFile(filepath.Join(f.dir, name(i)) + ".log")
		if len(text) > 0 {
			if troubled++; troubled == 1 {
				fmt.Printf("%s says: %s", name(i), text)
			}
		}
	}
	fmt.Printf("agents with messages: %d\n", troubled)
}

func rates(before, after []float64, seconds float64) (list []float64) {
	for i := range before {
		list = append(list, (after[i]-before[i])/seconds)
	}
	return list
}

func scaled(list []float64, by float64) (out []float64) {
	for _, v := range list {
		out = append(out, v*by)
	}
	return out
}
