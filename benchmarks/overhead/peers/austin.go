// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"

	"prywalk/benchmarks/bench/tools"
)

func austin() tools.Tool {
	return tools.Tool{
		Name: "austin", Kinds: []string{tools.Python}, AllThreads: true,
		Check: tools.Runs("austin", "pip install austin-dist"),
		Start: func(ctx context.Context, j *tools.Job) (tools.Session, error) {
			return tools.Restarted{
				Command: func(file string) []string {
					return []string{"austin", "--interval", strconv.Itoa(int(1e6 / j.Freq)), "--pid", strconv.Itoa(j.PID), "--output",
						file}
				},
				Sampling: func(_ []byte, file string) bool {
					_, err := os.Stat(file)
					return err == nil
				},
				Count: austinStacks,
			}.Start(ctx, j)
		},
	}
}

// A line is
//
// P<process>;T<interpreter>:<thread>;<file>:<function>:<line>;… <microseconds>
//
// outermost frame first, which is ":INVALID:" if the stack could not be read to its end.
func austinStacks(text []byte) (samples, complete int64) {
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("P")) {
			continue
		}
		samples++
		if austinComplete(string(bytes.TrimSpace(line))) {
			complete++
		}
	}
	return samples, complete
}

func austinComplete(line string) bool {
	if at := strings.LastIndexByte(line, ' '); at >= 0 {
		line = line[:at]
	}
	parts := strings.SplitN(line, ";", 4)
	if len(parts) < 3 || len(parts[1]) == 0 {
		return false
	}
	thread := parts[1][1:]
	if at := strings.LastIndexByte(thread, ':'); at >= 0 {
		thread = thread[at+1:]
	}
	place := strings.Split(parts[2], ":")
	return len(place) >= 3 && pythonRoot(place[len(place)-2], parts[0][1:] == thread)
}
