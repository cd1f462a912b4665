package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"debug/buildinfo"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"redrain/internal/testenv"
	"redrain/server/servertest"
)

// built builds the artefacts of one platform, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dist, err := os.MkdirTemp("", "redrain-dist-")
	if err != nil {
		return "", err
	}
	testenv.AtEnd(func() error { return os.RemoveAll(dist) })
	return dist, run(context.Background(), root, dist, []string{"linux/amd64"})
})

// artefacts returns the folder with the artefacts of linux/amd64, and the version.
func artefacts(t *testing.T) (dist, version string) {
	t.Helper()
	testenv.RunsFrom(t, testenv.All) // it compiles everything without cgo
	return testenv.Got(built()).Must(t), testenv.Got(newestVersion(filepath.Join(root, "CHANGELOG.md"))).Must(t)
}

// TestTwoReleasesAreEqual builds another time, in another time zone, with other flags in the environment.
func TestTwoReleasesAreEqual(t *testing.T) {
	dist, _ := artefacts(t)
	t.Setenv("TZ", "Asia/Shanghai")
	t.Setenv("GOFLAGS", "-tags=faults")
	t.Setenv("GOAMD64", "v3")
	second := filepath.Join(t.TempDir(), "dist")
	testenv.Must(t, run(t.Context(), root, second, []string{"linux/amd64"}))
	names := testenv.Got(os.ReadDir(dist)).Must(t)
	if len(names) < 8 {
		t.Errorf("artefacts: %v", names)
	}
	for _, name := range names {
		first := testenv.Got(os.ReadFile(filepath.Join(dist, name.Name()))).Must(t)
		again := testenv.Got(os.ReadFile(filepath.Join(second, name.Name()))).Must(t)
		if !bytes.Equal(first, again) {
			t.Errorf("two builds of %s differ", name.Name())
		}
	}
	if out, err := output(t.Context(), dist, "sha256sum", "--check", "--strict", "SHA256SUMS"); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// TestArchive looks at the program, its licences and its bill of materials.
func TestArchive(t *testing.T) {
	dist, version := artefacts(t)
	name := "redrain_" + version + "_linux_amd64"
	packed := testenv.Got(os.Open(filepath.Join(dist, name+".tar.gz"))).Must(t)
	defer func() { _ = packed.Close() }() // it was only read
	content := unpack(t, testenv.Got(gzip.NewReader(packed)).Must(t))
	binary := content[name+"/redrain"].data
	for _, other := range []string{"LICENSE", "redrain.yaml", "licenses/pages.txt"} {
		if len(content[name+"/"+other].data) == 0 {
			t.Errorf("no %s in the archive", other)
		}
	}
	if at := testenv.Got(filepath.Abs(root)).Must(t); bytes.Contains(binary, []byte(at)) {
		t.Errorf("the program names %s, where it was built", at)
	}

	path := filepath.Join(t.TempDir(), "redrain")
	testenv.Must(t, os.WriteFile(path, binary, 0o700))
	testenv.Contains(t, testenv.Got(output(t.Context(), ".", path, "version")).Must(t), "redrain "+version+" (",
		"version and revision")
	var bom cdx.BOM
	file := testenv.Got(os.Open(filepath.Join(dist, name+".cdx.json"))).Must(t)
	defer func() { _ = file.Close() }()
	testenv.Must(t, cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(&bom))
	testenv.Equal(t, bom.Metadata.Component.Version, version, "version in the bill of materials")
	listed := map[string]bool{}
	for _, c := range *bom.Components {
		listed[c.Name+"@"+c.Version] = true
	}
	info := testenv.Got(buildinfo.ReadFile(path)).Must(t)
	licensed := map[string]bool{"go@" + info.GoVersion: false}
	for file := range content {
		if rest, ok := strings.CutPrefix(file, name+"/licenses/"); ok {
			licensed[filepath.Dir(rest)] = true
		}
	}
	for _, m := range info.Deps {
		if module := m.Path + "@" + m.Version; !listed[module] || !licensed[module] {
			t.Errorf("%s: in the bill of materials: %v; with a licence: %v", module, listed[module], licensed[module])
		}
	}
	if !licensed["go@"+info.GoVersion] || len(info.Deps) < 30 {
		t.Errorf("licence of Go: %v; %d modules", licensed["go@"+info.GoVersion], len(info.Deps))
	}
}

// TestPackages lists the content of the deb package, and looks for the names in the rpm package.
func TestPackages(t *testing.T) {
	dist, version := artefacts(t)
	rpm := testenv.Got(os.ReadFile(filepath.Join(dist, "redrain-"+version+"-1.x86_64.rpm"))).Must(t)
	if !bytes.Contains(rpm, []byte("redrain.service")) {
		t.Error("the rpm package has no unit")
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("SKIPPED: dpkg-deb is not installed")
	}
	deb := filepath.Join(dist, "redrain_"+version+"_amd64.deb")
	list := testenv.Got(output(t.Context(), ".", "dpkg-deb", "-c", deb)).Must(t)
	for _, want := range []string{
		"-rwxr-xr-x root/root", "./usr/bin/redrain\n", "./usr/lib/systemd/system/redrain.service",
		"./usr/lib/sysusers.d/redrain.conf", "./usr/share/doc/redrain/LICENSE", "./usr/share/doc/redrain/licenses/go@",
		"drwxr-x--- root/redrain", "./etc/redrain/secrets/", "-rw-r----- root/redrain", "./etc/redrain/redrain.yaml",
	} {
		testenv.Contains(t, list, want, "content of the deb package")
	}
	control := testenv.Got(output(t.Context(), ".", "dpkg-deb", "-I", deb)).Must(t)
	for _, want := range []string{"Version: " + version, "conffiles", "postinst", "prerm"} {
		testenv.Contains(t, control, want, "control of the deb package")
	}
}

// TestImage unpacks the image, and plays on its program. It runs as the image's user, which can write no file.
func TestImage(t *testing.T) {
	dist, version := artefacts(t)
	image := testenv.Got(tarball.ImageFromPath(
		filepath.Join(dist, "redrain-"+version+"-image-linux-amd64.tar"), nil)).Must(t)
	config := testenv.Got(image.ConfigFile()).Must(t)
	testenv.Equal(t, config.Config.User, "65532:65532", "user")
	testenv.Equal(t, config.Config.Entrypoint, []string{"/usr/bin/redrain"}, "entrypoint")
	index := indexOf(t, filepath.Join(dist, "redrain-"+version+"-image.oci.tar"))
	platforms := testenv.Got(index.IndexManifest()).Must(t).Manifests
	testenv.Equal(t, len(platforms), 1, "platforms of the index")
	same := testenv.Got(index.Image(platforms[0].Digest)).Must(t)
	testenv.Equal(t, testenv.Got(same.ConfigName()).Must(t), testenv.Got(image.ConfigName()).Must(t), "id of the image")

	extracted := mutate.Extract(image)
	defer func() { _ = extracted.Close() }()
	content := unpack(t, extracted)
	if !x509.NewCertPool().AppendCertsFromPEM(content["etc/ssl/certs/ca-certificates.crt"].data) {
		t.Error("the image has no root certificates")
	}
	zone := testenv.Got(time.LoadLocationFromTZData("x", content["usr/share/zoneinfo/Asia/Shanghai"].data)).Must(t)
	testenv.Equal(t, time.Unix(0, 0).In(zone).Hour(), 8, "hour of the epoch in Shanghai")
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" || os.Getuid() != 0 {
		t.Skip("SKIPPED: only root on linux/amd64 can play on the image's files")
	}
	rootfs := t.TempDir()
	testenv.Must(t, content.writeTo(rootfs))
	playOn(t, rootfs, version)
}

// playOn plays a rain with the program and the files of an image, and real back ends.
func playOn(t *testing.T, rootfs, version string) {
	t.Helper()
	redrain := func(args ...string) *exec.Cmd {
		command := exec.Command("/usr/bin/redrain", args...)
		command.Dir, command.Env = "/", []string{"PATH=/usr/bin"}
		command.SysProcAttr = &syscall.SysProcAttr{
			Chroot: rootfs, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser},
		}
		return command
	}
	const token, secret = "operator-token-of-the-test", "secret-of-the-test-that-is-long-enough"
	addr := testenv.Addr(t)
	var log servertest.Log
	serve := redrain("serve", "--listen", addr, "--operator-token", token, "--jwt-secret", secret,
		"--drain-delay", "0s",
		"--redis", testenv.Redis(t), "--nats", testenv.NATS(t), "--mysql", testenv.MySQL(t),
		"--namespace", testenv.Namespace(t))
	serve.Stderr = &log
	node := testenv.Start(t, serve)
	url := "http://" + addr
	testenv.Eventually(t, time.Minute, "readiness", func() bool { return isReady(t, url) })
	testenv.Contains(t, log.String(), `"version":"`+version+`","revision":"`, "log at the start")
	bench := redrain("bench", "--url", url, "--token", token, "--jwt-secret", secret, "--players", "20",
		"--duration", "3s")
	if out, err := bench.CombinedOutput(); err != nil {
		t.Errorf("bench: %v\n%s\nthe node's log:\n%s", err, out, log.String())
	}
	node.Signal(syscall.SIGTERM)
	if state := node.Wait(time.Minute); !state.Success() {
		t.Errorf("the node ended with %v", state)
	}
}

func isReady(t *testing.T, url string) bool {
	t.Helper()
	request := testenv.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/readyz", nil)).Must(t)
	answer, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// indexOf returns the image index in the tar file of an OCI layout, after all its digests were verified.
func indexOf(t *testing.T, path string) v1.ImageIndex {
	t.Helper()
	packed := testenv.Got(os.Open(path)).Must(t)
	defer func() { _ = packed.Close() }()
	dir := t.TempDir()
	testenv.Must(t, unpack(t, packed).writeTo(dir))
	outer := testenv.Got(testenv.Got(layout.FromPath(dir)).Must(t).ImageIndex()).Must(t)
	named := testenv.Got(outer.IndexManifest()).Must(t).Manifests[0]
	index := testenv.Got(outer.ImageIndex(named.Digest)).Must(t)
	testenv.Must(t, validate.Index(index))
	return index
}

// unpack returns the files of a tar file, without its folders.
func unpack(t *testing.T, packed io.Reader) files {
	t.Helper()
	content := files{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		testenv.Must(t, err)
		if header.Typeflag == tar.TypeReg {
			data := testenv.Got(io.ReadAll(archive)).Must(t)
			content[header.Name] = file{data: data, mode: header.FileInfo().Mode()}
		}
	}
}
