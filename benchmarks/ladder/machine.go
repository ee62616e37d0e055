// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
)

func head(began time.Time, loadBefore float64, how string) string {
	prywalk := command.Revision()
	if prywalk != "" {
		prywalk = ", prywalk " + prywalk
	}
	return fmt.Sprintf("Measured on %s in %.0f s, %s, %d processors, Linux %s%s, load average %.2f before and %.2f "+
		"after. %s\n\n",
		began.UTC().Format(time.DateOnly), time.Since(began).Seconds(), machine.CPUModel(), runtime.NumCPU(),
		machine.Kernel(), prywalk, loadBefore, machine.Load(), how)
}
