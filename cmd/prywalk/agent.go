// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/agent"
	"prywalk/internal/commandline"
	"prywalk/internal/console"
	"prywalk/internal/exit"
	"prywalk/internal/recording"
	"prywalk/internal/view"
)

type agentFlags struct {
	recordFlags
	to         agent.Options
	window     commandline.Seconds
	flush      commandline.Seconds
	timeout    commandline.Seconds
	maxMessage commandline.Bytes
	spoolSize  commandline.Bytes
	headers    []string
	attributes []string
}

const (
	agentFreq      = 19 // no multiple of common periods
	agentOverhead  = 0.01
	agentWindow    = 5 * time.Second
	agentMessage   = 4 << 20 // gRPC servers' default
	agentSpoolSize = 256 << 20
	agentFlush     = 5 * time.Second
	agentTimeout   = 20 * time.Second
	leastWindow    = time.Second
)

var agentHelp = `  prywalk agent -a --endpoint http://localhost:4317
  prywalk agent --unit nginx --endpoint https://collector:4318 --protocol http
  prywalk agent --cgroup /kubepods.slice --endpoint https://collector:4317 --ca ca.pem \
      --bearer-token /run/secrets/token --spool /var/spool/prywalk \
      --metrics localhost:9102

Samples processes without end, as they come and go, and sends what their threads do to an
OpenTelemetry Collector as profiles (OTLP): their time on a processor, queued for one,
and waiting. Processes of the same user need no special rights.

Each window, of 5 seconds, is one export. The sums of all windows are the kernel's. What
cannot be sent waits in memory (8 MiB compressed), or in files with --spool. What is
dropped is counted in the metrics: http://ADDR/metrics, with --metrics ADDR.

Ctrl-C or SIGTERM sends the last window and ends. The profiles signal is in development:
a Collector takes it with --feature-gates=service.profilesSupport.

Exit codes: ` + exit.Meanings(exit.OK, exit.Failed, exit.WrongUsage, exit.Denied) + `.`

func newAgent() *cobra.Command {
	f := &agentFlags{
		recordFlags: recordFlags{freq: agentFreq, rung: "ladder", maxOverhead: agentOverhead,
			processChoice: processChoice{allowsNone: true}},
		window: commandline.Seconds(agentWindow), flush: commandline.Seconds(agentFlush),
		timeout: commandline.Seconds(agentTimeout), maxMessage: agentMessage, spoolSize: agentSpoolSize,
	}
	cmd := &cobra.Command{
		Use:   "agent {-a | --cgroup PATH | --unit NAME | --user USER | --match REGEXP | -p PID} [--endpoint URL]",
		Short: "profiles without end to an OpenTelemetry Collector",
		Long:  agentHelp,
		RunE:  func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	f.add(fl)
	f.addRule(fl)
	fl.StringVar(&f.to.Endpoint, "endpoint", "",
		"`URL` of the receiver (default http://localhost:4317, or :4318 for http); https:// for TLS")
	fl.StringVar(&f.to.Protocol, "protocol", agent.GRPC, "`PROTOCOL`: grpc or http")
	fl.Var(&f.window, "window", "time between two exports")
	fl.Var((*commandline.Address)(&f.to.MetricsAddr), "metrics",
		"serve the agent's metrics at this address: /metrics and /healthz")
	fl.BoolVar(&f.to.SendMetrics, "otlp-metrics", true, "send the agent's metrics to the receiver, too, each minute")
	fl.StringVar(&f.to.Resource.Service, "service-name", "", "`NAME` of the service that all processes are of")
	fl.BoolVar(&f.to.Resource.Environment, "service-from-environment", false,
		"read OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of each process's environment")
	fl.StringArrayVar(&f.attributes, "attribute", nil, "attribute of all resources, as `KEY=VALUE`; repeatable")
	fl.StringVar(&f.to.CAFile, "ca", "", "`FILE` with the certificates that the receiver's may be signed by (PEM)")
	fl.StringVar(&f.to.CertFile, "cert", "", "`FILE` with this side's certificate (PEM), for mutual TLS")
	fl.StringVar(&f.to.KeyFile, "key", "", "`FILE` with its private key (PEM)")
	fl.StringVar(&f.to.TokenFile, "bearer-token", "", "`FILE` with a bearer token; it is read again for each message")
	fl.StringArrayVar(&f.headers, "header", nil, "header of all requests, as `NAME=VALUE`; repeatable")
	fl.Var(&f.maxMessage, "max-message", "divide messages that are larger, before compression")
	fl.StringVar(&f.to.SpoolDir, "spool", "", "`DIRECTORY` for messages that cannot be sent now; they survive the agent")
	fl.Var(&f.spoolSize, "spool-size", "drop the oldest of them beyond this size")
	fl.Var(&f.timeout, "timeout", "how long sending one message may take")
	fl.Var(&f.flush, "flush", "how long sending the last messages may take at the end")
	fl.BoolVar(&f.to.Aggregate, "aggregate", false, "sums of each window without time stamps, as Pyroscope takes them")
	fl.BoolVar(&f.to.Parca, "parca", false, "send profiles as Parca reads them: each function twice, numbers as text")
	fl.VarP(&f.freq, "freq", "F", "sampling rate in Hz")
	fl.VarP(&f.freq, "rate", "r", "the same as --freq")
	fl.VarP(&f.duration, "duration", "d", "how long: seconds (30) or with a unit (30s, 2m); without end otherwise")
	fl.Var(&f.maxOverhead, "max-overhead", "lower the rate so that targets lose at most this share of their time")
	fl.Var(&f.maxPause, "max-pause", "stop no thread if that is expected to take longer, such as 100us")
	fl.BoolVar(&f.children, "children", false, "with -p, -n: child processes, too (on for -a, --cgroup and --unit)")
	fl.StringVar(&f.engine, "engine", engineAuto, engineUsage)
	fl.BoolVar(&f.noKernel, "no-kernel", false, "leave the kernel's functions out of stacks")
	fl.BoolVar(&f.readOnly, "read-only", false, readOnlyUsage)
	fl.StringVar(&f.threads, "threads", "", "only threads whose name matches this `REGEXP`")
	fl.IntVar(&f.maxDepth, "max-depth", 1024, "frames of a stack at most")
	fl.StringVarP(&f.output, "output", "o", "",
		"also write a recording to this `FILE`: without --rotate it grows without end")
	f.addRotation(fl)
	fl.SortFlags = false
	return cmd
}

func (f *agentFlags) run(cmd *cobra.Command, args []string) error {
	if err := cmp.Or(f.check(args), f.checkRotation(cmd.Flags().Changed)); err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if err = f.find(); err != nil {
		return err
	}
	o.Children = f.children || (f.systemWide || f.cgroup != "" || f.unit != "") && !cmd.Flags().Changed("children")
	f.follow(&o)
	o.OfHost = true
	if err = f.openEngine(&o); err != nil {
		return err
	}
	defer f.closeEngine(&o)
	return recording.Send(recording.Options{
		Sampler: o, PIDs: f.pids, Duration: time.Duration(f.duration), Output: f.output, Threads: f.threads,
		Selected: f.finder != nil, Rotate: time.Duration(f.rotate), Keep: f.keep,
	}, f.to)
}

func (f *agentFlags) check(args []string) (err error) {
	to := &f.to
	switch {
	case len(args) > 0:
		return exit.Usage("agent takes no argument %q; give what selects processes: -a, --cgroup, --unit, --user, --match, "+
			"-p or -n", args[0])
	case len(f.pids) == 0 && f.name == "" && !f.hasRule():
		return exit.Usage("no target: give -a for all processes, or --cgroup, --unit, --user, --match, -p or -n")
	case time.Duration(f.window) < leastWindow:
		return exit.Usage("--window %s: give at least %s", &f.window, leastWindow)
	case f.spoolSize < agent.LeastSpool:
		return exit.Usage("--spool-size %s: give at least %d bytes", &f.spoolSize, agent.LeastSpool)
	case f.maxDepth < 1:
		return exit.Usage("--max-depth %d: give at least 1", f.maxDepth)
	case f.rotate > 0 && f.output == "":
		return exit.Usage("--rotate is for recordings: name them with -o FILE")
	case console.IsStdout(f.output):
		return exit.Usage("-o - is not for agent: give a file")
	}
	if to.Endpoint == "" {
		to.Endpoint = "http://localhost:4317"
		if to.Protocol == agent.HTTP {
			to.Endpoint = "http://localhost:4318"
		}
	}
	if to.Headers, err = pairs("--header", f.headers); err != nil {
		return err
	}
	if to.Resource.Attributes, err = pairs("--attribute", f.attributes); err != nil {
		return err
	}
	if _, err := view.Compile("threads", f.threads); err != nil {
		return err
	}
	to.Window, to.Flush, to.Timeout = time.Duration(f.window), time.Duration(f.flush), time.Duration(f.timeout)
	to.MaxMessage, to.SpoolSize = int(f.maxMessage), int64(f.spoolSize)
	to.Version, to.Say = release(), func(format string, args ...any) { console.Say(format, args...) }
	to.UserAgent = "prywalk/" + release()
	return nil
}

func pairs(flag string, list []string) (map[string]string, error) {
	of := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, exit.Usage("%s %s: give NAME=VALUE", flag, text)
		}
		of[name] = value
	}
	return of, nil
}
