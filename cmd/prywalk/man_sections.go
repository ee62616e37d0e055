// SPDX-License-Identifier: Apache-2.0

//go:build man

package main

import (
	"strings"

	"prywalk/internal/exit"
	"prywalk/internal/printable"
)

const files = `.TP
\fIprywalk.pb.gz\fP
The recording that \fBrecord\fP writes and that \fBreport\fP reads: a gzipped pprof profile, mode 0600,
replaced in one step. A recording that was there is kept as \fINAME.old\fP.`

// overheads have figures of docs/performance.md.
var overheads = map[string]string{
	"record": measured + `.PP
\fB\-\-max\-overhead\fP \fI1%\fP lowers the rate until the target loses less than that share.
\fB\-\-max\-pause\fP \fI1ms\fP skips stops that are expected to be longer. \fB\-\-read\-only\fP writes nothing in
the target and never stops a sleeping thread.`,
	"top": measured,
	"agent": measured + `.PP
19 samples a second, and less where the agent would use more than \fB\-\-max\-overhead\fP (2 %) of all CPUs' time.`,
	"dump": `A running thread is stopped once, mostly for 18 to 131 microseconds; the time grows with its stack. A
sleeping thread is read while it sleeps, and stopped only where its stack cannot be determined otherwise. With
\fB\-\-atomic\fP all threads are stopped together until the last stack has been copied.`,
	"report": `Reads a file only; no process is touched. It takes 20 to 70 bytes of memory per byte of the file;
\fB\-\-max\-memory\fP limits it.`,
	"diff": `Reads files only; no process is touched. It takes 20 to 70 bytes of memory per byte of the files;
\fB\-\-max\-memory\fP limits it.`,
	"doctor": `Attaches to up to 100 threads of the target for a moment, which stops none of them.`,
}

const measured = `With the perf engine (root, CAP_PERFMON, or kernel.perf_event_paranoid of 2 or less) the kernel
samples running threads without a stop. With the ptrace engine (without these, and in Go, Python, PHP and Ruby) a
running thread is stopped for 18 to 131 microseconds (medians of programs) for each sample.
At 100 samples a second most programs keep 92 % of their throughput or more, and prywalk mostly uses 1 to 6 % of a CPU;
the worst known are 87 % (Java, 2,000 waiting threads), and 45 % of a CPU (500 threads that wake 15 times a second). A
higher rate costs more. Threads that stay asleep cost little: 4,998 of them 2.8 % of a CPU and 34 MB.
Measured on a virtual machine with 2 CPUs, Linux 6.18;
\fBmake bench\-quick\fP in the source measures it on yours.
`

func exitStatus() string {
	var b strings.Builder
	for _, row := range []struct {
		code int
		text string
	}{
		{exit.OK, "Done; also after Ctrl-C, SIGTERM or the end of the target, if a recording was " +
			"written."},
		{exit.Failed, "Failed. One line on standard error names the cause and the next step."},
		{exit.WrongUsage, "Wrong usage."},
		{exit.Denied, "Permission denied. \\fBprywalk doctor \\-p PID\\fP shows the remedy."},
		{exit.NoSamples, "No samples were taken; the recording is valid and empty."},
		{exit.Deadlock, "\\fBdump \\-\\-locks\\fP found a deadlock."},
		{exit.GrowthExceeded, "\\fBdiff \\-\\-fail\\-above\\fP was exceeded."},
		{exit.InternalFailure, "\\fBrecord \\-\\- COMMAND\\fP: prywalk failed. 126 and 127: the command could not be run. " +
			"All other codes are the command's own (128+N if signal N ended it)."},
	} {
		printable.Fprintf(&b, ".TP\n\\fB%d\\fP\n%s\n", row.code, row.text)
	}
	return b.String()
}

func manSection(b *strings.Builder, title, text string) {
	b.WriteString(".SH " + title + "\n" + strings.TrimSuffix(text, "\n") + "\n")
}
