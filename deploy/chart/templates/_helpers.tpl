{{- define "redrain.name" -}}
{{- $name := ternary .Release.Name (printf "%s-redrain" .Release.Name) (contains "redrain" .Release.Name) }}
{{- $name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "redrain.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels of all objects of the release. */}}
{{- define "redrain.selectAll" -}}
app.kubernetes.io/name: redrain
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of the pods of a part: (dict "root" $ "part" "gateway"). */}}
{{- define "redrain.select" -}}
{{ include "redrain.selectAll" .root }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "redrain.labels" -}}
{{ include "redrain.select" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* The settings of a part, as the file of --config. Its own settings win over those of all nodes. */}}
{{- define "redrain.config" -}}
{{- $v := .root.Values }}
{{- $c := dict "listen" ":8080" "admin-listen" ":9090" "log-format" "json" }}
{{- $_ := set $c "drain-delay" (printf "%ds" (int $v.drainDelay)) }}
{{- $_ := set $c "drain-timeout" (printf "%ds" (int $v.drainTimeout)) }}
{{- range $v.secret.keys }}
{{- $_ := set $c (printf "%s-file" .) (printf "/etc/redrain/secrets/%s" .) }}
{{- end }}
{{- range list $v.config (index $v .part).config }}
{{- range $key, $value := . }}
{{- $_ := set $c $key $value }}
{{- end }}
{{- end }}
{{- toYaml $c }}
{{- end }}

{{- define "redrain.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- end }}

{{- define "redrain.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
