// Command release builds the artefacts of a release into dist/. It needs no network if the modules are in the cache.
//
//	go run -C tools ./release
//
// The version is the newest heading of CHANGELOG.md. All files have the time of the commit, or of SOURCE_DATE_EPOCH,
// which a tree without Git needs. Two builds of one commit with one version of Go are equal, byte for byte.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "of the programs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, "..", filepath.Join("..", "dist"), strings.Split(*platforms, ","))
	stop()
	if err != nil {
		slog.Error("no release", "err", err)
		os.Exit(1)
	}
}

// run builds the artefacts of the tree at root into the folder dist, which it empties first.
func run(ctx context.Context, root, dist string, platforms []string) error {
	r, err := newRelease(ctx, root, dist)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil { //nolint:gosec // artefacts are public
		return err
	}
	stage, err := os.MkdirTemp("", "redrain-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }() // a temporary folder
	if err := npm(r.root, r.dist, r.version); err != nil {
		return err
	}
	images, err := newImages(r, stage)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	for _, platform := range platforms {
		slog.Info("building", "version", r.version, "platform", platform)
		p, err := r.build(ctx, platform, stage)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := r.publish(p, images); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := images.writeIndex(); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return writeSums(r.dist)
}

// publish writes the artefacts of one platform.
func (r release) publish(p program, images *images) error {
	if err := r.archive(p); err != nil {
		return err
	}
	if err := r.sbom(p); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(p, format); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return images.add(p)
}
