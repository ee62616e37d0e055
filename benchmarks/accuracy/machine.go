// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
)

type setting struct {
	CPU        string `json:"cpu"`
	Processors int    `json:"processors"`
	Kernel     string `json:"kernel"`
	Arch       string `json:"arch"`
	Go         string `json:"go"`
	Perf       string `json:"perf"`
	Prywalk    string `json:"prywalk"`
}

func thisSetting() setting {
	return setting{
		CPU: machine.CPUModel(), Processors: runtime.NumCPU(), Kernel: "Linux " + machine.Kernel(), Arch: runtime.GOARCH,
		Go:   runtime.Version(),
		Perf: command.FirstLine("perf", "--version"), Prywalk: command.Revision(),
	}
}
