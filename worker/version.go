package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/lifeboat-failover/lifeboat/config"
	"github.com/lifeboat-failover/lifeboat/internal/process"
	"github.com/lifeboat-failover/lifeboat/internal/telemetry"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// unstamped is the version of a development build: two such builds would have one name.
const unstamped = "dev"

// named is the configuration with a build id, where a deployment is configured: the program's
// own version, unless another one is configured.
func named(c config.Config) (config.Config, error) {
	v := &c.Temporal.Versioning
	if v.Deployment == "" || v.BuildID != "" {
		return c, nil
	}
	if telemetry.Version == unstamped {
		return c, config.Problems{{
			Key: "temporal.versioning.buildId", Value: `""`,
			Want: "this program has no version of its own: name the build here, or make it with VERSION=…",
		}}
	}
	v.BuildID = telemetry.Version
	return c, nil
}

// deployed is the version of the worker in Temporal: none without a deployment.
func deployed(v config.Versioning) worker.DeploymentOptions {
	if v.Deployment == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning: true,
		Version:       worker.WorkerDeploymentVersion{DeploymentName: v.Deployment, BuildID: v.BuildID},
	}
}

// deployments reads Temporal's worker deployments.
type deployments interface {
	GetHandle(name string) client.WorkerDeploymentHandle
}

// introduce logs whether the build gets work now, and the command that makes it the current one.
// It returns an error where Temporal has no deployments: the worker would never get work.
func introduce(ctx context.Context, me config.Versioning, all deployments, log *slog.Logger) error {
	if me.Deployment == "" {
		return nil
	}
	log = log.With("deployment", me.Deployment, "buildId", me.BuildID)
	known, err := all.GetHandle(me.Deployment).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	switch {
	case refuses(err):
		return fmt.Errorf("look up worker deployment %s in Temporal (temporal.versioning.deployment; empty needs none): %w", me.Deployment, err)
	case err != nil && !process.IsA[*serviceerror.NotFound](err):
		log.WarnContext(ctx, "cannot check whether this build is the current one", telemetry.KeyError, err)
		return nil
	}
	current := known.Info.RoutingConfig.CurrentVersion
	if current != nil && current.BuildID == me.BuildID {
		log.InfoContext(ctx, "this build is the current one")
		return nil
	}
	instead := "workers without a version"
	if current != nil {
		instead = "build " + current.BuildID
	}
	log.WarnContext(ctx, "this build gets no work until it is made the current one", "current", instead, "command", fmt.Sprintf(
		"temporal worker deployment set-current-version --deployment-name %s --build-id %s", me.Deployment, me.BuildID))
	return nil
}

// refuses reports whether Temporal has no deployments, or denies access to them.
func refuses(err error) bool {
	return process.IsA[*serviceerror.Unimplemented](err) || process.IsA[*serviceerror.PermissionDenied](err)
}
