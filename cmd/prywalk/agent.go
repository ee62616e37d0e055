// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/agent"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/command/recording"
	"prywalk/internal/watch/target"
)

type agentFlags struct {
	record              recordFlags
	to                  agent.Options
	headers, attributes []string
}

const (
	agentFreq      = 19 // no multiple of common periods
	agentWindow    = 5 * time.Second
	agentMessage   = 4 << 20 // gRPC servers' default
	agentSpoolSize = 256 << 20
	agentFlush     = 5 * time.Second
	agentTimeout   = 20 * time.Second
	minAgentWindow = time.Second
)

func newAgent() *cobra.Command {
	f := &agentFlags{
		record: recordFlags{
			recording: recording.Options{
				Sampler: target.SamplingOptions{Freq: agentFreq, LimitOwnCPU: true},
			},
			mode: "auto", processes: processFlags{allowsNone: true},
		},
		to: agent.Options{
			Receiver: agent.Receiver{Timeout: agentTimeout, UserAgent: "prywalk/" + release()}, Version: release(),
			Window: agentWindow, Flush: agentFlush, MaxMessage: agentMessage, SpoolSize: agentSpoolSize, Logf: console.Infof,
		},
	}
	cmd := &cobra.Command{
		Use:   "agent {" + ruleForm + " | -p PID | -n NAME} [--endpoint URL]",
		Short: "continuous profiles to an OpenTelemetry Collector",
		Long:  helpPage("agent"),
		RunE:  f.run,
	}
	fl := cmd.Flags()
	f.record.processes.addTargets(fl)
	f.record.processes.addRule(fl)
	fl.StringVar(&f.to.Receiver.Endpoint, "endpoint", "",
		"`URL` of the receiver (default http://localhost:4317, or :4318 for http); https:// for TLS")
	fl.StringVar(&f.to.Receiver.Protocol, "protocol", agent.GRPC, "`PROTOCOL`: grpc or http")
	fl.Var(commandline.Seconds(&f.to.Window), "window", "time between two exports")
	fl.Var(commandline.Address(&f.to.MetricsAddr), "metrics",
		"serve the agent's metrics at this address: /metrics and /healthz")
	fl.StringVar(&f.to.Resource.Service, "service-name", "", "`NAME` of the service that all processes are of")
	fl.BoolVar(&f.to.Resource.Environment, "service-from-environment", false,
		"read OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of each process's environment")
	fl.StringArrayVar(&f.attributes, "attribute", nil, "attribute of all resources, as `KEY=VALUE`; repeatable")
	fl.StringVar(&f.to.Receiver.CAFile, "ca", "",
		"`FILE` with the certificates that the receiver's may be signed by (PEM)")
	fl.StringVar(&f.to.Receiver.CertFile, "cert", "", "`FILE` with this side's certificate (PEM), for mutual TLS")
	fl.StringVar(&f.to.Receiver.KeyFile, "key", "", "`FILE` with its private key (PEM)")
	fl.StringVar(&f.to.Receiver.TokenFile, "bearer-token", "",
		"`FILE` with a bearer token; it is read again for each message")
	fl.StringArrayVar(&f.headers, "header", nil, "header of all requests, as `NAME=VALUE`; repeatable")
	fl.Var(commandline.Bytes(&f.to.MaxMessage), "max-message", "divide messages that are larger, before compression")
	fl.StringVar(&f.to.SpoolDir, "spool", "", "`DIRECTORY` for messages that cannot be sent now; they survive the agent")
	fl.Var(commandline.Bytes(&f.to.SpoolSize), "spool-size", "drop the oldest of them beyond this size")
	fl.Var(commandline.Seconds(&f.to.Receiver.Timeout), "timeout", "how long sending one message may take")
	fl.Var(commandline.Seconds(&f.to.Flush), "flush", "how long sending the last messages may take at the end")
	fl.BoolVar(&f.to.Aggregate, "aggregate", false, "sums of each window without time stamps, as Pyroscope takes them")
	f.record.addRate(fl)
	fl.VarP(commandline.Seconds(&f.record.recording.Duration), "duration", "d",
		"how long: seconds (30) or with a unit (30s, 2m); until Ctrl-C otherwise")
	f.record.addLimits(fl)
	fl.Lookup("max-overhead").Usage += "; the agent uses at most this share of all CPUs' time"
	fl.BoolVar(&f.record.recording.Sampler.Children, "children", false,
		"with -p, -n: child processes, too (on for -a, --cgroup, --unit, --container and --pod)")
	f.record.addEngine(fl)
	fl.StringVarP(&f.record.recording.Output, "output", "o", "",
		"also write a recording to this `FILE`: without --rotate it grows without a limit")
	f.record.addRotation(fl)
	fl.SortFlags = false
	return cmd
}

func (f *agentFlags) run(cmd *cobra.Command, args []string) error {
	if err := cmp.Or(f.complete(args), f.record.setSampling(), f.record.checkRotation(cmd.Flags().Changed)); err != nil {
		return err
	}
	if err := f.record.open(cmd, false); err != nil {
		return err
	}
	defer f.record.closeEngine()
	return recording.RunAgent(f.record.recording, f.to)
}

func (f *agentFlags) complete(args []string) (err error) {
	to := &f.to
	switch {
	case len(args) > 0:
		return errs.Usage("agent takes no argument %q; give what selects processes: %s, -p or -n", args[0], ruleFlags)
	case len(f.record.processes.pids) == 0 && f.record.processes.name == "" && !f.record.processes.hasRule():
		return errs.Usage("no target: give what selects processes: %s, -p or -n; -a takes all", ruleFlags)
	case to.Window < minAgentWindow:
		return errs.Usage("--window %s: give at least %s", to.Window, minAgentWindow)
	case to.SpoolSize < agent.MinSpool:
		return errs.Usage("--spool-size %d: give at least %d bytes", to.SpoolSize, agent.MinSpool)
	case f.record.recording.Rotate > 0 && f.record.recording.Output == "":
		return errs.Usage("--rotate is for recordings: name them with -o FILE")
	case console.IsStdout(f.record.recording.Output):
		return errs.Usage("-o - is not for agent: give a file")
	}
	if to.Receiver.Endpoint == "" {
		to.Receiver.Endpoint = "http://localhost:4317"
		if to.Receiver.Protocol == agent.HTTP {
			to.Receiver.Endpoint = "http://localhost:4318"
		}
	}
	if to.Receiver.Headers, err = keyValuePairs("--header", "NAME=VALUE", f.headers); err != nil {
		return err
	}
	if credential := credentialFlag(to); credential != "" && !isSecret(to.Receiver.Endpoint) {
		console.Infof("%s is sent in clear text to this endpoint: give one that begins with https://", credential)
	}
	to.Resource.Attributes, err = keyValuePairs("--attribute", "KEY=VALUE", f.attributes)
	return err
}

func credentialFlag(to *agent.Options) string {
	if to.Receiver.TokenFile != "" {
		return "--bearer-token"
	}
	for name := range to.Receiver.Headers {
		if strings.EqualFold(name, "Authorization") {
			return "--header " + name
		}
	}
	return ""
}

// isSecret reports whether messages stay secret: by TLS, or on this host. An unparsable endpoint is refused later.
func isSecret(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || err == nil && addr.IsLoopback()
}

func keyValuePairs(flag, form string, list []string) (map[string]string, error) {
	pairs := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, errs.Usage("%s %s: give %s", flag, text, form)
		}
		pairs[name] = value
	}
	return pairs, nil
}
