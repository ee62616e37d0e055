// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/command/demo"
	"prywalk/internal/command/recording"
	"prywalk/internal/host/launch"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
	"prywalk/report"
)

type demoFlags struct {
	dir      string
	duration time.Duration
}

func newDemo() *cobra.Command {
	f := &demoFlags{duration: 3 * time.Second}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "record a built-in workload and show its report",
		Long: `  prywalk demo

Starts a small service with a fault, which takes no CPU time, records it for some
seconds, prints what its threads wait for, and writes the recording and a page with
a flame graph. It needs no set-up and no rights: the service is prywalk's own child.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run() },
	}
	cmd.Flags().StringVarP(&f.dir, "output", "o", ".", "`DIR` for prywalk-demo.pb.gz and prywalk-demo.html")
	cmd.Flags().VarP(commandline.Seconds(&f.duration), "duration", "d", "how long to record")
	return cmd
}

func newWorkload() *cobra.Command {
	return hidden("demo-workload", func() error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		ctx, cancel := context.WithTimeout(ctx, time.Hour) // limits a forgotten one
		defer cancel()
		demo.Run(ctx)
		return nil
	})
}

func (f *demoFlags) run() error {
	self, err := os.Executable() // not selfFile, whose name would be shown
	if err != nil {
		return fmt.Errorf("cannot find prywalk's own file to start the workload: %w", err)
	}
	path := filepath.Join(f.dir, "prywalk-demo.pb.gz")
	if err := f.record(self, path); err != nil {
		return err
	}
	return f.show(path)
}

func (f *demoFlags) record(self, path string) error {
	o := recording.Options{
		Sampler: target.SamplingOptions{Freq: sampler.DefaultFreq, MaxOverhead: defaultMaxOverhead, MaxPause: defaultMaxPause,
			Tasks: true},
		Output:   strings.ReplaceAll(path, "%", "%%"),
		Duration: f.duration, Overwrite: true,
	}
	if err := recording.CheckOutput(o); err != nil {
		return err
	}
	console.Infof("recording a built-in service for %s: why does it serve so few orders?", o.Duration)
	l, err := launch.Start([]string{self, "demo-workload"})
	if err != nil {
		return err
	}
	if err := l.Release(); err != nil {
		return err
	}
	defer func() {
		_ = l.Signal(unix.SIGKILL)
		_, _ = l.Wait()
	}()
	o.PIDs = []int{l.PID}
	defer console.Quiet(console.IsQuiet())
	console.Quiet(true) // the report has the conclusion and the notes
	return recording.RecordProcesses(o)
}

func (f *demoFlags) show(path string) error {
	p, err := readProfile(path)
	if err != nil {
		return err
	}
	o := report.Options{By: "wait", N: 1, File: path, Color: console.UseColor(os.Stdout), Width: console.Width(os.Stdout)}
	if err := console.Print(func(w io.Writer) error { return report.Table(w, p, o) }); err != nil {
		return err
	}
	page := filepath.Join(f.dir, "prywalk-demo.html")
	err = profile.WriteFileAtomic(page, func(w io.Writer) error { return report.HTML(w, p, report.Options{}) })
	if err != nil {
		return err
	}
	console.Infof("flame graph in %s, recording in %s; next: prywalk record -p PID", page, path)
	return nil
}
