{{- define "sluice.name" -}}
{{- if contains "sluice" .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-sluice" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* The environment variable of each secret. */ -}}
{{- define "sluice.secretVariables" -}}
storeUrl: SLUICE_STORE__URL_FILE
tokens: SLUICE_CONTROL__TOKENS_FILE
respPassword: SLUICE_RESP__PASSWORD_FILE
hashing: SLUICE_SECRET_FILE
{{- end -}}

{{- /* The names of all configured Secrets in one string; empty if there are none. */ -}}
{{- define "sluice.secretNames" -}}
{{- range .Values.secrets -}}{{- .name -}}{{- end -}}
{{- end -}}
